package chat

import "github.com/heldcall/heldcall/intercept"

// lane is one choice of the answer as the agent reads it. It begins with a choice
// of the first upstream body; when all calls of that are denied, it goes on with
// the choice of a continuation.
type lane struct {
	index   int          // of the choice, towards the agent
	now     *choice      // what upstream said last in it
	raw     string       // of a whole answer: that choice as it stands in the body
	text    string       // what the model wrote in it before
	spoken  string       // what it said in sound before
	named   []string     // the extras it gave before
	thought []field      // of a whole answer: its reasoning before
	hidden  []string     // messages of whole turns that the agent does not see
	speech  []spokenTurn // what was spoken in them
	turns   int          // continuations so far
	waits   bool         // its calls were denied, and the model goes on in a continuation

	role, finish bool   // have gone out
	separated    bool   // what now says is set off from text
	note         string // what stands in place of its calls
	noted        bool   // the note has gone out
	audio        string // raw id of the sound that the agent hears
}

// assign gives a new choice of an upstream body its lane. The first choice of a
// continuation takes the place of the one that was denied; a server that answers
// with more than were asked for gets lanes of their own for them.
func (a *answer) assign(c *choice) error {
	if a.going != nil && len(a.choices) == 0 {
		a.going.goOn(c, a.upstream.Kind() == intercept.FormWhole)
		return nil
	}
	if len(a.lanes) == maxChoices {
		return intercept.NotUnderstood("it has more than %d choices", maxChoices)
	}
	l := &lane{index: a.free(c.index), now: c}
	if a.going != nil {
		l.hidden = append(l.hidden, a.going.hidden...)
		l.turns = a.going.turns
	}
	c.lane = l
	a.lanes = append(a.lanes, l)
	return nil
}

// goOn continues the lane with a choice of a continuation. A whole answer has
// place for the sound of the last one only; the words of others go before its own.
func (l *lane) goOn(c *choice, whole bool) {
	said := l.now.said()
	if whole {
		l.text += intercept.Paragraph(l.text, said.text())
	} else {
		l.text, l.spoken = l.heard(), l.allSpoken()
	}
	l.named = append(l.named, said.order...)
	l.now, c.lane = c, l
	l.waits, l.separated = false, false
}

// free is index, or where a lane has that already the next one that none has.
func (a *answer) free(index int) int {
	next := 0
	taken := false
	for _, l := range a.lanes {
		taken = taken || l.index == index
		next = max(next, l.index+1)
	}
	if taken {
		return next
	}
	return index
}

// lane returns the lane of the choice that has an index in the current body, nil
// where it has none.
func (a *answer) lane(index int) *lane {
	for _, c := range a.choices {
		if c.index == index {
			return c.lane
		}
	}
	return nil
}

// heard is all that the model has written in the lane.
func (l *lane) heard() string {
	return l.text + intercept.Paragraph(l.text, l.now.said().written())
}

// allSpoken is all that the model has said in sound in the lane.
func (l *lane) allSpoken() string { return l.spoken + l.now.said().voice.text() }

// waiting returns the first lane that goes on in a continuation, nil if there is
// none.
func (a *answer) waiting() *lane {
	for _, l := range a.lanes {
		if l.waits {
			return l
		}
	}
	return nil
}
