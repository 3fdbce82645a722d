package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/history"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// outputChoice is one choice of the answer as the agent reads it. It begins with a choice
// of the first upstream body; when all calls of that are denied, it goes on with
// the choice of a continuation.
type outputChoice struct {
	index   int                  // of the choice, towards the agent
	now     *choice              // what upstream said last in it
	raw     string               // of a whole answer: that choice as it is in the body
	text    string               // what the model wrote in it before
	spoken  string               // what it said in sound before
	named   []string             // the extras it gave before
	thought []history.Field      // of a whole answer: its reasoning before
	hidden  []string             // messages of whole turns that the agent does not see
	speech  []history.SpokenTurn // what was spoken in them
	turns   int                  // continuations so far
	// continues: its calls were denied, and the model goes on in a continuation.
	continues bool

	role, finish bool   // have gone out
	separated    bool   // the new text is set off from text
	notice       string // what the agent reads in place of its calls
	noticed      bool   // the notice has gone out
	audio        string // raw id of the sound that the agent hears
}

// assign gives a new choice of an upstream body its output. The first choice of a
// continuation takes the place of the one that was denied; a server that answers
// with more than were asked for gets outputs of their own for them.
func (a *answer) assign(c *choice) error {
	if a.continuing != nil && len(a.choices) == 0 {
		a.continuing.continueWith(c, a.whole)
		return nil
	}
	if len(a.outputs) == wire.MaxChoices {
		return intercept.NotUnderstood("it has more than %d choices", wire.MaxChoices)
	}
	l := &outputChoice{index: a.free(c.index), now: c}
	if a.continuing != nil {
		l.hidden = append(l.hidden, a.continuing.hidden...)
		l.turns = a.continuing.turns
	}
	c.output = l
	a.outputs = append(a.outputs, l)
	return nil
}

// continueWith continues the output with a choice of a continuation. A whole answer has
// place for the sound of the last one only; the words of others go before its own.
func (l *outputChoice) continueWith(c *choice, whole bool) {
	said := l.now.said()
	if whole {
		l.text += strictjson.Paragraph(l.text, said.text())
	} else {
		l.text, l.spoken = l.heard(), l.allSpoken()
	}
	l.named = append(l.named, said.order...)
	l.now, c.output = c, l
	l.continues, l.separated = false, false
}

// free is index, or where an output has that already the next one that none has.
func (a *answer) free(index int) int {
	next := 0
	taken := false
	for _, l := range a.outputs {
		taken = taken || l.index == index
		next = max(next, l.index+1)
	}
	if taken {
		return next
	}
	return index
}

// output returns the output of the choice that has an index in the current body, nil
// where it has none.
func (a *answer) output(index int) *outputChoice {
	if c := a.known(index); c != nil {
		return c.output
	}
	return nil
}

// heard is all that the model has written in the output.
func (l *outputChoice) heard() string {
	return l.text + strictjson.Paragraph(l.text, l.now.said().written())
}

// allSpoken is all that the model has said in sound in the output.
func (l *outputChoice) allSpoken() string { return l.spoken + l.now.said().audio.text() }

// unfinished returns the first output that goes on in a continuation, nil if there is
// none.
func (a *answer) unfinished() *outputChoice {
	for _, l := range a.outputs {
		if l.continues {
			return l
		}
	}
	return nil
}
