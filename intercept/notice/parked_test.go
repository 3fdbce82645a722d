package notice

import (
	"encoding/json"
	"testing"
)

// The text about a parked call replaces its mark in JSON in strings of any depth, and
// nothing else.
func TestFillParked(t *testing.T) {
	const id, text = "01KAP000000000000000000000", `It "waits" \ ☃` + "\n"
	message := func(content any) string {
		raw, err := json.Marshal(map[string]any{"role": "tool", "content": content})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, nest := range map[string]func(content string) any{
		"a message":                 func(c string) any { return map[string]any{"content": c} },
		"a message in a string":     func(c string) any { return map[string]any{"turns": []string{"x", message(c)}} },
		"a message in two strings":  func(c string) any { return map[string]any{"turns": message(message(c))} },
		"beside a mark in a text":   func(c string) any { return map[string]any{"a": c, "b": "see " + ParkedMark(id)} },
		"beside that of another id": func(c string) any { return map[string]any{"a": c, "b": ParkedMark("01KAP000000000000000000001")} },
	} {
		before, _ := json.Marshal(nest(ParkedMark(id)))
		want, _ := json.Marshal(nest(text))
		got := FillParked(before, id, text)
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil {
			t.Fatalf("%s: %s", name, got)
		}
		if one, two := mustJSON(t, a), mustJSON(t, b); one != two {
			t.Errorf("%s: got %s, want %s", name, one, two)
		}
		if ids := ParkedRequests(before); len(ids) == 0 || ids[0] != id {
			t.Errorf("%s: requests %v", name, ids)
		}
	}
	if ids := ParkedRequests([]byte(`{"content":"heldcall:parked:"}`)); ids != nil {
		t.Errorf("a mark without an id: %v", ids)
	}
}

func mustJSON(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
