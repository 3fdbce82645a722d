package approvals

import (
	"strings"
	"unicode"
)

// maxConfirmation is the longest text that reviewers are asked to type, in bytes.
const maxConfirmation = 200

// ConfirmationOf returns what a reviewer types to approve a call with these effects whose rule has
// confirm: type: the target of the most dangerous effect, or the name of the tool if there is none
// that can be typed.
func ConfirmationOf(effects []Effect, tool string) string {
	for _, word := range effectVerbs {
		for _, e := range effects {
			if e.Kind == word.kind && canType(e.Target) {
				return e.Target
			}
		}
	}
	return tool
}

// canType reports whether a text is on one line, of printable ASCII without spaces at its ends.
func canType(text string) bool {
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }
	return text != "" && len(text) <= maxConfirmation && strings.TrimSpace(text) == text && strings.IndexFunc(text, odd) < 0
}

// CheckConfirmation refuses an approval without the text that the request asks the reviewer to type.
func (d *Decision) CheckConfirmation(r *Request) error {
	if r.Details.Confirm == "" || !d.Action.Approves() || strings.TrimSpace(d.Confirm) == r.Details.Confirm {
		return nil
	}
	return Invalid("confirm", "type %q to approve this request", r.Details.Confirm)
}
