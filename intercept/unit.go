package intercept

import "github.com/heldcall/heldcall/intercept/strictjson"

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
