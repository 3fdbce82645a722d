package intercept

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Doubts are why clients may read a call in different ways, a sentence each:
// [Call.Ambiguous] in the making. The zero value is none.
type Doubts []string

// Doubt adds a reason, once.
func (d *Doubts) Doubt(reason string) {
	if !slices.Contains(*d, reason) {
		*d = append(*d, reason)
	}
}

// DoubtArguments doubts arguments that are not one strict JSON object.
func (d *Doubts) DoubtArguments(args string) {
	switch {
	case strictjson.Strict([]byte(args)) != nil:
		d.Doubt("Its arguments are not strict JSON (cut off, a name twice, several values or invalid text).")
	case !strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{"):
		d.Doubt("The arguments are not a JSON object.") // as policy says it, so that people read it once
	}
}

// The reasons that several dialects have.
const (
	DoubtCut         = "The answer was cut off by its length; this call may be longer than it looks."
	DoubtSharedID    = "Another call of the same answer has the same id."
	DoubtObject      = "Its arguments came as an object instead of as text, which clients read in different ways."
	DoubtHalf        = "Its arguments have half of a character, which clients read in different ways."
	DoubtInterrupted = "Its tool is allowed by name and the beginning of the call has reached the agent already; then its arguments turned out not to be plain."
)

// FlagCanonical is the flag of a call whose events clients could read in different
// ways: the agent gets the call rendered by heldcall, from known fields only.
const FlagCanonical = "Upstream sent this call in a form that clients read in different ways; heldcall releases it in canonical form, with the arguments shown here."
