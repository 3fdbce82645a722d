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
