package visible

import (
	"strings"
	"testing"
)

func TestIndented(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,"x\",\u202e"],"b":{}}`: "{\n  \"a\": [\n    1,\n    \"x\\\",\\u202e\"\n  ],\n  \"b\": {}\n}",
		"{\"a\":\"\u202e\"}":            "{\n  \"a\": \"\\u202e\"\n}",
		"not {\x1b":                     `not {\x1b`,
		"two\nlines \u202e":             "two\nlines \\u202e",
	} {
		if got := Indented([]byte(text)); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

// Nothing that a model writes is many times as long where people read it.
func TestIndentedIsNotMuchLonger(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	wide := strings.Repeat("[", 60) + strings.Repeat("1,", 90_000) + "1" + strings.Repeat("]", 60)
	strung := `["` + strings.Repeat(`[{,\"`, 60_000) + `"]`
	for _, text := range []string{deep, wide} {
		if got := Indented([]byte(text)); got != text {
			t.Errorf("%d bytes are shown in %d", len(text), len(got))
		}
	}
	if got := Indented([]byte(strung)); got != "[\n  "+strung[1:len(strung)-1]+"\n]" {
		t.Error("what stands in a text counts")
	}
}
