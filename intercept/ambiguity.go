package intercept

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Ambiguities are reasons why clients may read a call in different ways, a sentence each,
// for [Call.Ambiguous].
type Ambiguities []string

// AddAmbiguity adds a reason, once.
func (d *Ambiguities) AddAmbiguity(reason string) {
	if !slices.Contains(*d, reason) {
		*d = append(*d, reason)
	}
}

// CheckArguments adds a reason if arguments are not one strict JSON object.
func (d *Ambiguities) CheckArguments(args string) {
	switch {
	case strictjson.Strict([]byte(args)) != nil:
		d.AddAmbiguity("Its arguments are not strict JSON (cut off, a name twice, several values or invalid text).")
	case !strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{"):
		d.AddAmbiguity("The arguments are not a JSON object.") // the same sentence as in policy, so that people read it once
	}
}

// The reasons that several dialects have.
const (
	AmbiguousCut         = "The answer was cut off by its length; this call may be longer than it looks."
	AmbiguousID          = "Another call of the same answer has the same id."
	AmbiguousObject      = "Its arguments came as an object instead of as text, which clients read in different ways."
	AmbiguousHalf        = "Its arguments have half of a character, which clients read in different ways."
	AmbiguousInterrupted = "Its tool is allowed by name and the beginning of the call has reached the agent already; then its arguments turned out not to be plain."
)

// FlagCanonical is the flag of a call whose events clients could read in different
// ways: the agent gets the call rendered by heldcall, from known fields only.
const FlagCanonical = "Upstream sent this call in a form that clients read in different ways; heldcall releases it in canonical form, with the arguments shown here."
