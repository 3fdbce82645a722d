package intercept

import (
	"errors"
	"strings"
	"testing"
)

func TestRecastPart(t *testing.T) {
	recast := func(_ int, payload []byte) (Rewrite, error) {
		switch text := string(payload); text {
		case `"gone"`:
			return Rewrite{Drop: true}, nil
		case `"between"`:
			return Rewrite{JSON: text, Before: []byte("data: 1\n\n"), After: []byte("data: 2\n\n")}, nil
		case `"bad"`:
			return Rewrite{}, errors.New("bad")
		default:
			return Rewrite{JSON: strings.ReplaceAll(text, "old", "new")}, nil
		}
	}
	for part, want := range map[string]string{
		"event: x\ndata:  \"same\"\n\n":      "event: x\ndata:  \"same\"\n\n",
		"data: \"same\"":                     "data: \"same\"\n\n",
		"event: x\ndata: \"old\"\nid: 1\n\n": "event: x\ndata: \"new\"\n\n",
		"data: \"gone\"\n\n":                 "",
		"data: \"gone\"\ndata: \"same\"\n\n": "data: \"same\"\n\n",
		"data: \"between\"\n\n":              "data: 1\n\ndata: \"between\"\n\ndata: 2\n\n",
		": note\n\n":                         ": note\n\n",
	} {
		payloads, err := Payloads([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		got, err := RewritePart([]byte(part), payloads, recast)
		if err != nil || string(got) != want {
			t.Errorf("%q: %v, %q, want %q", part, err, got, want)
		}
	}
	if _, err := RewritePart([]byte("data: \"bad\"\n\n"), [][]byte{[]byte(`"bad"`)}, recast); err == nil {
		t.Error("an error is lost")
	}
}
