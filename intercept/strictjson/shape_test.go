package strictjson

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

const countingModel = `{"type":"d","sequence_number":41,"output_index":0,"delta":"Hi"}`

func countingShape(t testing.TB) Shape {
	t.Helper()
	number, delta := gjson.Get(countingModel, "sequence_number"), gjson.Get(countingModel, "delta")
	return NewShape([]byte(countingModel), []Span{{number.Index, number.Index + len(number.Raw)}, Inner(delta)})
}

func TestShapeWithANumber(t *testing.T) {
	shape := countingShape(t)
	tests := []struct {
		number string
		ok     bool
	}{
		{"41", true},
		{"0", true},
		{"7", true},
		{"123456789012345", true},
		{"1234567890123456", false},
		{"041", false},
		{"00", false},
		{"-1", false},
		{"4.1", false},
		{"4e1", false},
		{"", false},
		{`"41"`, false},
		{"null", false},
		{"4 1", false},
		{"41 ", false},
	}
	for _, tt := range tests {
		payload := `{"type":"d","sequence_number":` + tt.number + `,"output_index":0,"delta":"x"}`
		texts, ok := shape.Match([]byte(payload), nil)
		if ok != tt.ok || (ok && string(texts[0]) != tt.number) {
			t.Errorf("%q: got %v %q, want %v", tt.number, ok, texts, tt.ok)
		}
	}
	for _, number := range []string{"-1", "1.5", "1e3", "1234567890123456"} {
		s := NewShape([]byte(`{"n":`+number+`}`), []Span{{5, 5 + len(number)}})
		if _, ok := s.Match([]byte(`{"n":`+number+`}`), nil); ok {
			t.Errorf("a slot of %s was learnt", number)
		}
	}
}

// FuzzCountingShape is FuzzShape for a shape with a number.
func FuzzCountingShape(f *testing.F) {
	f.Add([]byte(countingModel))
	f.Add([]byte(`{"type":"d","sequence_number":0,"output_index":0,"delta":"\",\"delta\":\"Hi"}`))
	f.Add([]byte(`{"type":"d","sequence_number":1,"sequence_number":41,"output_index":0,"delta":"Hi"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		shape := countingShape(t)
		texts, ok := shape.Match(in, nil)
		if !ok {
			return
		}
		if err := Strict(in); err != nil {
			t.Fatalf("matched %q: %v", in, err)
		}
		if n := gjson.GetBytes(in, "sequence_number"); n.Raw != string(texts[0]) || n.Int() < 0 || n.Float() != float64(n.Int()) {
			t.Fatalf("the decoder reads the number as %s, the shape as %q", n.Raw, texts[0])
		}
		if d := gjson.GetBytes(in, "delta"); d.Raw != `"`+string(texts[1])+`"` {
			t.Fatalf("the decoder reads the text as %s, the shape as %q", d.Raw, texts[1])
		}
		back := `{"type":"d","sequence_number":` + string(texts[0]) + `,"output_index":0,"delta":"` + string(texts[1]) + `"}`
		if back != string(in) {
			t.Fatalf("matched %q, which differs outside the slots", in)
		}
	})
}
