package policy

import (
	"strings"
	"testing"
	"unicode"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// FuzzMessage: a template writes a bounded text, of which a title is one line that
// can be read, whatever the call.
func FuzzMessage(f *testing.F) {
	mustHaveCorpus(f)
	f.Fuzz(func(t *testing.T, text, resource string) {
		if len(text) > 1000 || strings.Contains(text, "range") || strings.Contains(text, "printf") {
			return // its author may take all the time there is
		}
		src := marshal(map[string]any{
			"tools": map[string]any{"bash": map[string]any{"resource": "x", "as": "shell"}},
			"rules": []any{map[string]any{"ask": []string{"bash"}, "title": text, "denial": text}},
		})
		p, err := Parse("p.yaml", []byte(src))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.yaml:") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		for _, c := range []Call{{Tool: "bash", Arguments: argument("x", resource)}, {Tool: "bash", Arguments: resource}, {Tool: "bash", Arguments: resource, FreeText: true}} {
			v := p.Judge(c)
			if strings.ContainsFunc(v.Title, func(r rune) bool { return r == '\n' || unicode.IsControl(r) }) || len(v.Title) > 4*match.MaxPreview {
				t.Errorf("%q: title %q", text, v.Title)
			}
			if told := v.Denial.Denied(Denied{Note: resource, Reviewer: "ann"}); len(told) > rule.MaxMessage {
				t.Errorf("%q: a denial of %d bytes", text, len(told))
			}
		}
	})
}

// FuzzCondition: whatever the condition, it is refused with its place or comes to
// an end, and a call with more than one reading is not allowed by it.
func FuzzCondition(f *testing.F) {
	mustHaveCorpus(f)
	f.Fuzz(func(t *testing.T, when, arguments string) {
		if len(when) > 500 {
			return
		}
		src := marshal(map[string]any{"rules": []any{
			map[string]any{"allow": []string{"a"}, "when": when},
			map[string]any{"deny": []string{"b"}, "when": when},
		}})
		p, err := Parse("p.yaml", []byte(src))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.yaml:") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		doubtful := len(match.CheckArguments(arguments)) > 0
		allowed, denied := p.Judge(Call{Tool: "a", Arguments: arguments}), p.Judge(Call{Tool: "b", Arguments: arguments})
		switch {
		case doubtful && allowed.Action != Ask:
			t.Errorf("%q of %q, which has more than one reading: %s", when, arguments, allowed.Action)
		case !doubtful && allowed.Action == Allow && denied.Action != Deny:
			t.Errorf("%q of %q: true where it allows, and not where it denies", when, arguments)
		}
	})
}
