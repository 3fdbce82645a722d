package intercept

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Unit is a piece of an answer that the agent gets as a whole or not at all: a tool call
// or, if the wire numbers them, any other block or item. Dialects embed it in their types.
type Unit struct {
	Ambiguities
	// Of is the dialect's value that embeds the unit.
	Of any
	// Call reports that the agent would run it.
	Call bool
	// Odd reports that clients may read its events in different ways.
	Odd bool
	// Hidden reports that the agent never gets it: a question that heldcall answers.
	Hidden bool
	// Void reports that it does not reach the agent and needs no ruling.
	Void bool

	passed bool // all its events so far went out unbuffered
	begun  bool // the first one did
	check  *strictjson.ArgumentsCheck
	ruling Ruling
	ruled  bool
}

// Passed reports whether the events of a call went out unbuffered.
func (u *Unit) Passed() bool { return u.passed }

// Begun reports whether the agent has got the beginning of a call.
func (u *Unit) Begun() bool { return u.begun }

// Broken reports whether a call became ambiguous after its beginning had passed.
func (u *Unit) Broken() bool { return u.begun && !u.passed }

// Passing reports whether a call passes unbuffered, or may do so.
func (u *Unit) Passing() bool { return u.passed || u.check != nil }

// Interrupt removes a call from those that pass: the rest of it is held, and the call is
// ambiguous.
func (u *Unit) Interrupt() {
	u.check = nil
	if u.passed {
		u.passed = false
		u.AddAmbiguity(AmbiguousInterrupted)
	}
}

// MarkAmbiguous adds an ambiguity to a call, which can no longer pass.
func (u *Unit) MarkAmbiguous(reason string) {
	u.AddAmbiguity(reason)
	u.Interrupt()
}

// Differ marks a call that clients may read in different ways. It returns an error if the
// agent has got the beginning of the call.
func (u *Unit) Differ() error {
	if u.begun {
		return NotUnderstood("a call of a tool that is allowed by name continues in a form that clients read in different ways, after its beginning has passed")
	}
	u.Odd = true
	return nil
}

// Rule gives a call its ruling.
func (u *Unit) Rule(r Ruling) { u.ruling, u.ruled = r, true }

// Ruling returns the ruling on a call, and whether there is one.
func (u *Unit) Ruling() (r Ruling, ruled bool) { return u.ruling, u.ruled }

// pending reports whether a call needs a ruling.
func (u *Unit) pending() bool { return u.Call && !u.Void && !u.passed && !u.ruled }

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
		d.AddAmbiguity("The arguments are not valid JSON.")
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
