package demo

import (
	"strings"
	"testing"
)

// A line that is printed while a prompt waits begins a line of its own.
func TestPrinter_BelowAPrompt(t *testing.T) {
	var out strings.Builder
	p := NewPrinter(&out)
	p.say("a, d or q\n%s", "> ")
	p.Tell(Line{Who: Model, Text: "Then I look."})
	p.Tell(Line{Who: Reviewer, Text: "deny"})
	const want = "a, d or q\n> \nmodel       Then I look.\nreviewer    deny\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// Lines fit into 80 columns, and no word is cut.
func TestPrinter_Wraps(t *testing.T) {
	var out strings.Builder
	p := NewPrinter(&out)
	long := strings.Repeat("x", 90)
	p.Tell(Line{Who: Model, Text: strings.Repeat("word ", 20) + long + " end\n  second line"})
	want := "model       " + strings.Repeat("word ", 12) + "word\n            " + strings.Repeat("word ", 6) + "word\n            " + long + "\n            end\n              second line\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", out.String(), want)
	}
}
