package intercept

import (
	"bytes"
	"testing"

	"github.com/tidwall/gjson"
)

const shapeModel = `{"id":"c1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"obfuscation":"x1"}`

func modelShape(t testing.TB) Shape {
	t.Helper()
	var slots []Span
	for _, path := range []string{"choices.0.delta.content", "obfuscation"} {
		r := gjson.Get(shapeModel, path)
		if r.Index == 0 {
			t.Fatalf("no %s", path)
		}
		slots = append(slots, Span{r.Index + 1, r.Index + len(r.Raw) - 1})
	}
	return NewShape([]byte(shapeModel), slots)
}

func TestShape(t *testing.T) {
	shape := modelShape(t)
	tests := []struct {
		in string
		ok bool
	}{
		{shapeModel, true},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"a \"quoted\" \\ \n wörd"},"finish_reason":null}],"obfuscation":""}`, true},
		{`{"id":"c1","choices":[{"index":1,"delta":{"content":"Hi"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"Hi","tool_calls":[]},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\u0048\u00e9 \ud83d\ude00"},"finish_reason":null}],"obfuscation":"x1"}`, true},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\ud83d"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\ud83dx\ude00"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\ude00"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\u00g0"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"\x"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{`{"id":"c1","choices":[{"index":0,"delta":{"content":"` + "\xff" + `"},"finish_reason":null}],"obfuscation":"x1"}`, false},
		{shapeModel + " ", false},
		{"", false},
	}
	for _, tt := range tests {
		if _, ok := shape.Match([]byte(tt.in), nil); ok != tt.ok {
			t.Errorf("%q: got %v, want %v", tt.in, ok, tt.ok)
		}
	}
	if _, ok := (&Shape{}).Match(nil, nil); ok {
		t.Error("the zero shape matches")
	}
}

// FuzzShape holds the cheap test against the decoder: what matches is strict
// JSON, and is the payload it was learnt from but for the slots.
func FuzzShape(f *testing.F) {
	f.Add([]byte(shapeModel))
	f.Add([]byte(`{"id":"c1","choices":[{"index":0,"delta":{"content":"\"},\"tool_calls\":[]"},"finish_reason":null}],"obfuscation":"\\"}`))
	f.Add([]byte(`{"id":"c1","choices":[{"index":0,"delta":{"content":"","content":"Hi"},"finish_reason":null}],"obfuscation":"x1"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		shape := modelShape(t)
		texts, ok := shape.Match(in, nil)
		if !ok {
			return
		}
		if err := Strict(in); err != nil {
			t.Fatalf("matched %q: %v", in, err)
		}
		back := bytes.Clone(in)
		for _, field := range []struct {
			path, model string
			text        []byte
		}{{"obfuscation", "x1", texts[1]}, {"choices.0.delta.content", "Hi", texts[0]}} {
			r := gjson.GetBytes(back, field.path)
			if r.Raw != `"`+string(field.text)+`"` {
				t.Fatalf("the decoder reads %s as %s, the shape as %q", field.path, r.Raw, field.text)
			}
			back = append(append(bytes.Clone(back[:r.Index+1]), field.model...), back[r.Index+len(r.Raw)-1:]...)
		}
		if string(back) != shapeModel {
			t.Fatalf("matched %q, which differs outside the slots", in)
		}
	})
}
