package strictjson

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// FuzzItems holds the items of a strict value against those that gjson reads.
func FuzzItems(f *testing.F) {
	for _, tt := range strictCases {
		f.Add([]byte(tt.in))
	}
	for _, in := range []string{
		`[]`, `[ ]`, `[1]`, `[ 1 , -2.5e3 ,true,null , "a" ]`, `["]","\"]","\\",[],[[]],{},{"a":[{"b":"}"}]}]`,
		`[{"role":"user","content":"a \\\" [ { \u005d"},{"role":"assistant"} , 7]`, `"[1]"`, `{"a":[1]}`, `7`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got, want []string
		for item := range Items(in) { // of any bytes: it must end
			got = append(got, string(item))
		}
		if !jsontext.Value(in).IsValid() {
			return
		}
		value := gjson.ParseBytes(in)
		if value.IsArray() && in[0] == '[' {
			for _, item := range value.Array() {
				want = append(want, item.Raw)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q has the items %q, gjson reads %q", in, got, want)
		}
	})
}

func TestItemsStop(t *testing.T) {
	for item := range Items([]byte(`[1,2`)) {
		if string(item) == "1" {
			break
		}
		t.Errorf("got %s after the first item", item)
	}
}
