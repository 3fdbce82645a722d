package chat

import "testing"

// An event from which heldcall takes a call keeps the texts of known fields and types, and of unknown
// fields where the call reaches the agent as the model made it.
func TestKept(t *testing.T) {
	for field, want := range map[string]bool{
		`"content":"a"`:                 true,
		`"content":[{"type":"text"}]`:   true,
		`"content":{"a":1}`:             false,
		`"audio":{"data":"AA"}`:         true,
		`"audio":"AA"`:                  false,
		`"images":[{"url":"u"}]`:        true,
		`"reasoning":"r"`:               true,
		`"reasoning":["r"]`:             false,
		`"reasoning_details":[{"a":1}]`: true,
		`"x_unknown":"a"`:               false,
		`"__proto__":{"a":1}`:           false,
	} {
		c, err := decodeChunk(deltaOf(field))
		if err != nil {
			t.Fatal(err)
		}
		text := &c.choices[0].texts[0]
		if got := text.kept(true); got != want {
			t.Errorf("%s: %t", field, got)
		}
		if got := text.kept(false); got != (want || field == `"x_unknown":"a"`) {
			t.Errorf("%s, released: %t", field, got)
		}
	}
}
