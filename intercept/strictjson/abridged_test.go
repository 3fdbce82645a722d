package strictjson

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

var longs = strings.Repeat(`say \"wörd\" \ud83d\ude00\n`, 8)

func TestAbridge(t *testing.T) {
	for _, tt := range []struct{ json, short string }{
		{`{"text":"%"}`, `{"text":"x"}`},
		{`{"a":[{"text":"%","b":"%"},{"text":"%","note":"%"}],"text":"short"}`, `{"a":[{"text":"x","b":"%"},{"text":"x","note":"x"}],"text":"short"}`},
		{`{"text":{"text":"%"},"a":"text","b":"%"}`, `{"text":{"text":"x"},"a":"text","b":"%"}`},
		{`["text","%",{"te\u0078t":"%","text" :"%","text2":"%"}]`, `["text","%",{"te\u0078t":"%","text" :"%","text2":"%"}]`},
		{`{"a\"text":"%","\"text":"%","text":["%"]}`, `{"a\"text":"%","\"text":"%","text":["%"]}`},
		{`{"a":"\\","text":"%"}`, `{"a":"\\","text":"x"}`},
		{`{"text":"%\ud83d"}`, `{"text":"%\ud83d"}`},
		{`{"text":"%`, `{"text":"%`},
	} {
		texts := Texts{Names: []string{"text", "note"}}
		for range 2 { // the second time it repeats the last text
			a := texts.Abridge([]byte(strings.ReplaceAll(tt.json, "%", longs)))
			if want := strings.ReplaceAll(tt.short, "%", longs); string(a.short) != want {
				t.Errorf("%s: got %s", tt.json, a.short)
			}
		}
	}
}

// FuzzAbridge: abridged JSON is strict if and only if the whole JSON is, and all values in
// it are the same but for the long texts.
func FuzzAbridge(f *testing.F) {
	for _, in := range []string{
		`{"text":"%"}`, `{"a":[{"text":"%","note":"%"},"text"],"text":"%%","b":{"text":1}}`, `{"text":"%","text":"%"}`, `{"a":"\\\"text","text":"%`, `{"a":"\\","text":"%"}`,
	} {
		in = strings.ReplaceAll(in, "%", longs)
		f.Add([]byte(in), []byte(`{"text":"`+longs+`"}`))
		f.Add([]byte(in), []byte(`{"text":"`+longs[:len(longs)-2]+`"}`))
	}
	f.Fuzz(func(t *testing.T, in, before []byte) {
		texts := Texts{Names: []string{"text", "note"}}
		texts.Abridge(before)
		a := texts.Abridge(in)
		if err := Strict(in); a.IsStrict() != (err == nil) || (Strict(a.short) == nil) != (err == nil) {
			t.Fatalf("%q is abridged to %q, strict %t: %v", in, a.short, a.IsStrict(), err)
		} else if err == nil {
			compareAbridged(t, &a, a.Parse(), gjson.ParseBytes(in))
		}
	})
}

// compareAbridged compares a value of the short JSON with that of the whole JSON.
func compareAbridged(t *testing.T, a *Abridged, left, all gjson.Result) {
	t.Helper()
	if got := a.Raw(left); got != all.Raw || left.Type != all.Type || (left.Type == gjson.String && (left.Str == "") != (all.Str == "")) {
		t.Fatalf("%q is found as %q, not %q", left.Raw, got, all.Raw)
	}
	children := func(v gjson.Result) (list []gjson.Result) {
		if v.Type == gjson.JSON {
			v.ForEach(func(k, item gjson.Result) bool {
				list = append(list, gjson.Result{Type: gjson.String, Raw: k.Raw, Str: k.Str, Index: k.Index}, item)
				return true
			})
		}
		return list
	}
	of, in := children(left), children(all)
	if len(of) != len(in) {
		t.Fatalf("%q has not as many values as %q", left.Raw, all.Raw)
	}
	for i := range of {
		if i%2 == 0 { // a name, or nothing in an array
			if of[i].Str != in[i].Str {
				t.Fatalf("the name %q is found as %q", in[i].Raw, of[i].Raw)
			}
			continue
		}
		if long := len(in[i].Str) > 0 && of[i].Str == "x" && slices.Contains([]string{"text", "note"}, of[i-1].Str); !long && of[i].Str != in[i].Str {
			t.Fatalf("the text %q is found as %q", in[i].Raw, of[i].Raw)
		}
		compareAbridged(t, a, of[i], in[i])
	}
}
