package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

var values = []Secret{
	{"TOKEN", "ghp_R4nd0mSecret-Value/42"},
	{"PASSWORD", `p"a\ss $wörd'&%`},
	{"LONG", strings.Repeat("x9Q", 90)},
}

// encodings are those that docs/secrets.md promises to mask.
func encodings(value string) map[string]string {
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }
	all := map[string]string{
		"raw": value, "json": inJSON(value), "json twice": inJSON(inJSON(value)), "json three times": inJSON(inJSON(inJSON(value))),
		"query": url.QueryEscape(value), "path": url.PathEscape(value), "url in json": inJSON(url.QueryEscape(value)),
		"json in url": url.QueryEscape(inJSON(value)), "json twice in path": url.PathEscape(inJSON(inJSON(value))),
	}
	unicode, percent := "", ""
	for _, r := range value {
		unicode += fmt.Sprintf(`\u%04X`, r)
	}
	for _, b := range []byte(value) {
		percent += fmt.Sprintf("%%%02x", b)
	}
	all["unicode"], all["percent"] = unicode, percent
	for i := range 3 {
		padded := strings.Repeat("k", i) + value + "tail"
		all[fmt.Sprintf("base64 %d", i)] = base64.StdEncoding.EncodeToString([]byte(padded))
		all[fmt.Sprintf("base64url %d", i)] = base64.RawURLEncoding.EncodeToString([]byte(padded))
	}
	for _, width := range []int{16, 19, 64, 76} {
		for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "indented": "\n    ", "space": " ", "JSON": `\n`} {
			for i := range 3 {
				digits := base64.StdEncoding.EncodeToString([]byte("-----head"[:6+i] + value + strings.Repeat("tail", 20)))
				wrapped := ""
				for ; len(digits) > width; digits = digits[width:] {
					wrapped += digits[:width] + end
				}
				all[fmt.Sprintf("base64 in lines of %d, %s %d", width, name, i)] = wrapped + digits
			}
		}
	}
	entities, python := "", ""
	for _, r := range value {
		entities += fmt.Sprintf("&#x%X;", r)
		if r < 0x80 {
			python += fmt.Sprintf(`\x%02x`, r)
		} else {
			python += string(r)
		}
	}
	all["HTML"], all["entities"], all["python"] = html.EscapeString(value), entities, python
	all["SQL"], all["CSV"] = strings.ReplaceAll(value, "'", "''"), strings.ReplaceAll(value, `"`, `""`)
	all["python '"] = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)
	for i, q := range []Quoting{Bare, Double, Single} {
		all[fmt.Sprintf("shell %d", i)] = q.Quote(value)
		all[fmt.Sprintf("shell %d in query", i)] = url.QueryEscape(q.Quote(value))
	}
	return all
}

func TestEncodings(t *testing.T) {
	all := append(slices.Clone(values), Secret{"SIGNS", "k>~?-Value/42?>~"}) // its base64 differs between the alphabets, at each alignment
	m := New(all)
	for _, s := range all {
		for name, text := range encodings(s.Value) {
			for _, around := range []string{"", `\`, "a%", `\u00`, "é\n", `{"k":"`} {
				got := m.Text(around + text + around)
				if !strings.Contains(got, Handle(s.Name)) {
					t.Errorf("%s, %s after %q: %q has no handle", s.Name, name, around, got)
				}
				if (name == "unicode" || name == "python") && around == `\` { // an escaped backslash, or an escape in JSON in JSON
					continue
				}
				if !strings.HasPrefix(got, around) || !strings.HasSuffix(got, around) {
					t.Errorf("%s, %s: %q has lost the text around it, %q", s.Name, name, got, around)
				}
			}
		}
	}
}

func TestNothingToMask(t *testing.T) {
	text := []byte(`{"a":"ghp_R4nd0mSecret-Value/4\u0041 and %41 more ` + strings.Repeat(`\"`, 100) + `"}`)
	if got := New(values).JSON(text); &got[0] != &text[0] {
		t.Errorf("a body without a secret was changed or copied: %s", got)
	}
	if New(nil) != nil || New([]Secret{{"A", "short"}}) != nil {
		t.Error("there is a masker of nothing")
	}
	var none *Masker
	if none.Text("x") != "x" || none.Contains(text) || none.NewStream(0) != nil {
		t.Error("no masker changes texts")
	}
}

func TestOverlaps(t *testing.T) {
	m := New([]Secret{{"SHORT", "abcdefgh"}, {"LONG", "abcdefghij"}, {"LATER", "efghijklmn"}})
	for text, want := range map[string]string{
		"abcdefgh":               "secret://SHORT",
		"abcdefghij":             "secret://LONG",
		"abcdefghabcdefgh":       "secret://SHORTsecret://SHORT",
		"-abcdefghijklmn-":       "-secret://LONGklmn-",
		"abcdefgabcdefghijklmno": "abcdefgsecret://LONGklmno",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	m := New([]Secret{{"PIN", "84719203657481920365"}})
	body := `{"a":[84719203657481920365,-184719203657481920365.5e3,7],"84719203657481920365":1}`
	want := `{"a":["secret://PIN","-1secret://PIN.5e3",7],"secret://PIN":1}`
	if got := string(m.JSON([]byte(body))); got != want {
		t.Errorf("got %s", got)
	}
	s := m.NewStream(0)
	if got := string(s.Write([]byte("data: " + body + "\n\n"))); got != "data: "+want+"\n\n" {
		t.Errorf("the stream has %q", got)
	}
}

func TestPartsAreOneText(t *testing.T) {
	m := New(values)
	for _, s := range values {
		for cut := 1; cut < len(s.Value); cut++ {
			first, _ := json.Marshal("see " + strings.ToValidUTF8(s.Value[:cut], "?"))
			second, _ := json.Marshal(strings.ToValidUTF8(s.Value[cut:], "?") + " end")
			if strings.ContainsAny(string(first)+string(second), "?") {
				continue
			}
			body := fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"text":%s,"type":"text"}],"n":1}`, first, second)
			want := fmt.Sprintf(`{"content":[{"type":"text","text":"see %s"},{"text":" end","type":"text"}],"n":1}`, Handle(s.Name))
			if got := string(m.JSON([]byte(body))); got != want {
				t.Errorf("cut at %d: %s", cut, got)
			}
		}
	}
}

// event returns a chat event with a piece of text.
func event(text string, index int) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":%d,\"delta\":{\"content\":%s}}]}\n\n", index, quoted)
}

// joined returns the text of chat events.
func joined(t *testing.T, stream string) (text string) {
	for line := range strings.Lines(stream) {
		payload, is := strings.CutPrefix(line, "data: ")
		if !is || strings.HasPrefix(payload, "[DONE]") {
			continue
		}
		var e struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(payload), &e); err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		for _, c := range e.Choices {
			text += c.Delta.Content
		}
	}
	return text
}

func TestStreamedText(t *testing.T) {
	m := New(values)
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range values {
		for name, encoded := range encodings(s.Value) {
			for range 20 {
				s1 := m.NewStream(0)
				rest, stream := []rune("before "+encoded+" after"), ": comment\n\n"
				for len(rest) > 0 {
					n := 1 + random.IntN(min(len(rest), 9))
					stream += event(string(rest[:n]), 0)
					rest = rest[n:]
				}
				stream += "data: [DONE]\n\n"
				var out bytes.Buffer
				for p := []byte(stream); len(p) > 0; {
					n := 1 + random.IntN(min(len(p), 200))
					out.Write(s1.Write(p[:n]))
					p = p[n:]
				}
				out.Write(s1.End())
				if got := joined(t, out.String()); !strings.Contains(got, Handle(s.Name)) || strings.Contains(got, s.Value) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
					t.Fatalf("%s, %s: the text is %q", s.Name, name, got)
				}
			}
		}
	}
}

func TestStreamIsNotDelayed(t *testing.T) {
	s := New(values).NewStream(0)
	refusal := strings.ReplaceAll(event("-", 0), "content", "refusal")
	finish := func(choice int) string {
		return fmt.Sprintf("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"index\":%d}]}\n\n", choice)
	}
	for _, tt := range []struct{ write, want string }{
		{event("hello", 0), event("hello", 0)},
		{event("gh", 0), ""},
		{event("other", 1), ""},
		{event("ost", 0), event("gh", 0) + event("other", 1) + event("ost", 0)},
		{event("g", 0), ""},
		{strings.Repeat(event("-", 1), patience), ""}, // of another choice
		{strings.Repeat(refusal, patience), ""},
		{refusal, event("g", 0) + strings.Repeat(event("-", 1), patience) + strings.Repeat(refusal, patience+1)},
		{event("gh", 0) + finish(1), ""},
		{finish(0), event("gh", 0) + finish(1) + finish(0)},
		{event("gh", 0), ""},
		{"data: {\"type\":\"ping\"}\n\n: comment\n\n", ""},
		{"data: [DONE]\n\n", event("gh", 0) + "data: {\"type\":\"ping\"}\n\n: comment\n\ndata: [DONE]\n\n"},
		{event("ghp_", 0), ""},
	} {
		if got := string(s.Write([]byte(tt.write))); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.write, got, tt.want)
		}
	}
	if got := string(s.End()); got != event("ghp_", 0) {
		t.Errorf("the end is %q", got)
	}
}

func TestStreamedWhole(t *testing.T) {
	m := New(values)
	body := []byte(` {"choices":[{"message":{"content":"` + values[0].Value + `"}}]}`)
	s := m.NewStream(0)
	var out []byte
	for i := range body {
		out = append(out, s.Write(body[i:i+1])...)
	}
	if string(out) != " {" {
		t.Errorf("before the end passed %q", out)
	}
	if out = append(out, s.End()...); string(out) != string(m.JSON(body)) || bytes.Contains(out, []byte(values[0].Value)) {
		t.Errorf("the answer is %s", out)
	}
}

func TestOtherTextsInEvents(t *testing.T) {
	m := New(values)
	for _, stream := range []string{
		"data: {\"type\":\"response.output_text.done\",\"text\":%q}\n\n",
		"data: {\"error\":{\"message\":%q}}\n\n",
		"data: not JSON %s\n\n",
		"event: response.output_text.delta\ndata: {\"delta\":%q,\"item_id\":\"i\",\"output_index\":0}\n\n",
		"data: {\"delta\":{\"partial_json\":%q},\"index\":0}", // without its end
	} {
		s := m.NewStream(0)
		whole := fmt.Sprintf(stream, values[0].Value)
		out := string(s.Write([]byte(whole))) + string(s.End())
		if want := fmt.Sprintf(stream, Handle("TOKEN")); out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("", uint8(0), uint8(0), "")
	f.Add(`{"a":"`, uint8(1), uint8(1), `"}`)
	f.Add(`\\u`, uint8(2), uint8(1), `%4`)
	m := New(values)
	f.Fuzz(func(t *testing.T, before string, which, how uint8, after string) {
		s := values[int(which)%len(values)]
		forms := []string{s.Value, Bare.Quote(s.Value), Double.Quote(s.Value), Single.Quote(s.Value), url.QueryEscape(s.Value)}
		forms = append(forms, Base64Forms(s.Value)...)
		form := forms[int(how)%len(forms)]
		body, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"text": before + form}, map[string]string{"text": after}}})
		got := m.JSON(body)
		var parsed struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(got, &parsed); err != nil || len(parsed.Content) != 2 {
			t.Fatalf("%s is not JSON: %v", got, err)
		}
		for _, form := range forms {
			if strings.Contains(parsed.Content[0].Text+parsed.Content[1].Text, form) {
				t.Fatalf("%q is still in %s", form, got)
			}
		}
		if again := m.JSON(got); string(again) != string(got) {
			t.Fatalf("masked twice: %s, then %s", got, again)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	for _, n := range []int{0, 1, 20} {
		var secrets []Secret
		for i := range n {
			secrets = append(secrets, Secret{fmt.Sprint("S", i), fmt.Sprintf("%d-s3cret-Value-of-32-bytes-%04d", i, i*i)})
		}
		var body strings.Builder
		body.WriteString(`{"messages":[`)
		for i := range 400 {
			fmt.Fprintf(&body, `{"role":"tool","content":%q},`, strings.Repeat("\tfunc main() { fmt.Println(\"100% of a line\") }\n", 20)+fmt.Sprint(i))
		}
		body.WriteString(`{"role":"user","content":"go on"}]}`)
		text := []byte(strings.ReplaceAll(body.String(), `\x`, `x`))
		m := New(secrets)
		b.Run(fmt.Sprint(n, " secrets"), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.JSON(text)
			}
		})
	}
}
