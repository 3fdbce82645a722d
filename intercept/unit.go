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
	// Hidden reports that the agent never gets it: a question that heldcall answers.
	Hidden bool
	// Void reports that it does not reach the agent and needs no ruling.
	Void bool

	ruling   Ruling
	ruled    bool
	complete bool // nothing of it follows: see [Part.Completed]
	left     bool // the agent has it, before the end of the answer
}

// Rule gives a call its ruling.
func (u *Unit) Rule(r Ruling) { u.ruling, u.ruled = r, true }

// Ruling returns the ruling on a call, and whether there is one.
func (u *Unit) Ruling() (r Ruling, ruled bool) { return u.ruling, u.ruled }

// isCall reports whether a unit, which may be nil, is a call.
func (u *Unit) isCall() bool { return u != nil && u.Call }

// waiting reports whether a unit, which may be nil, has not left.
func (u *Unit) waiting() bool { return u == nil || !u.left }

// pending reports whether a call needs a ruling.
func (u *Unit) pending() bool { return u.Call && !u.Void && !u.ruled }

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
	AmbiguousCut      = "The answer was cut off by its length; this call may be longer than it looks."
	AmbiguousFiltered = "The provider's content filter ended the answer; this call may be longer than it looks."
	AmbiguousRefused  = "The model refused to go on with the answer; this call may be longer than it looks."
	AmbiguousStopped  = "A stop sequence of the request ended the answer; this call may be longer than it looks."
	AmbiguousID       = "Another call of the same answer has the same id."
	AmbiguousObject   = "Its arguments came as an object instead of as text, which clients read in different ways."
	AmbiguousHalf     = "Its arguments have half of a character, which clients read in different ways."
)

// maxFlagCode bounds the code in a flag, in bytes.
const maxFlagCode = 4 << 10

// FlagProgram tells a reviewer that a program of the model, which the provider runs, makes a call. Code is "" where it
// is not known.
func FlagProgram(code string) string {
	if code == "" {
		return "A program of the model, which the provider runs, makes this call. Its code is not in this conversation."
	}
	more := ""
	if len(code) > maxFlagCode {
		code, more = strings.ToValidUTF8(code[:maxFlagCode], ""), "…"
	}
	return "A program of the model, which the provider runs, makes this call:\n" + code + more
}

// AmbiguousEnd is why the last call of an answer may be longer than it looks, by the reason with which the answer ended in
// any of the APIs; "" for the model's own end.
func AmbiguousEnd(reason string) string {
	switch reason {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return AmbiguousCut
	case "content_filter":
		return AmbiguousFiltered
	case "refusal":
		return AmbiguousRefused
	case "stop_sequence":
		return AmbiguousStopped
	}
	return ""
}
