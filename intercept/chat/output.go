package chat

import (
	"cmp"
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// output is the answer as the agent reads it, over all upstream bodies.
type output struct {
	head       chunkHead       // of its events
	choices    []*outputChoice // in the order in which they began
	continuing bool            // the current body continues the only choice, after a denial
	firstJSON  string          // of a whole answer that continues: the first body
	priorUsage []byte          // of the earlier bodies
	open       bool            // another body follows: usage before its end is left out
}

// outputChoice is one choice of the answer as the agent reads it. It begins with a choice
// of the first upstream body. When all calls of the only choice are denied, it continues with
// that of a continuation.
type outputChoice struct {
	index     int     // in the answer that the agent reads
	now       *choice // its choice in the latest body
	prior     priorTurns
	sent      sentParts
	separated bool   // the text of now is set off from that of prior
	notice    string // text in place of its calls
}

// priorTurns is the model's output in the only choice in earlier bodies.
type priorTurns struct {
	count     int  // of continuations
	denials   int  // of those that followed a denial
	free      bool // the continuation forces no call, see [intercept.Frees]
	text      string
	spoken    string       // in sound
	extras    []string     // names of the other fields
	reasoning []rawField   // of a whole answer
	hidden    []string     // messages that the agent does not see
	speech    []spokenTurn // the sound of these
}

// sentParts notes which parts of a choice the agent has.
type sentParts struct {
	role, finish, notice bool
	audio                string // raw id of the sound
}

// learnHead takes the head of a body; that of the first body counts.
func (o *output) learnHead(h chunkHead) {
	if !o.continuing {
		o.head = h
	}
}

// assign gives a new choice of a body its output: that of a continuation continues the one that was
// denied.
func (o *output) assign(c *choice, b *upstreamBody) error {
	switch {
	case o.continuing && len(b.choices) > 0:
		return intercept.NotUnderstood("after a denial it has several choices")
	case o.continuing:
		o.choices[0].continueWith(c, b.whole)
	case len(o.choices) == maxChoices:
		return intercept.NotUnderstood("it has more than %d choices", maxChoices)
	default:
		c.output = &outputChoice{index: c.index, now: c}
		o.choices = append(o.choices, c.output)
	}
	return nil
}

// continueWith continues the choice with that of a continuation. A whole answer has place
// for the sound of the last turn only; the words of earlier ones become text.
func (l *outputChoice) continueWith(c *choice, whole bool) {
	message := l.now.message()
	if whole {
		l.prior.text += strictjson.Paragraph(l.prior.text, message.text())
	} else {
		l.prior.text, l.prior.spoken = l.text(), l.spoken()
	}
	l.prior.extras = append(l.prior.extras, message.order...)
	l.now, c.output, l.separated = c, l, false
}

// text is the text of the choice in all bodies.
func (l *outputChoice) text() string {
	return l.prior.text + strictjson.Paragraph(l.prior.text, l.now.message().written())
}

// spoken is the sound of the choice in all bodies, in words.
func (l *outputChoice) spoken() string { return l.prior.spoken + l.now.message().audio.text() }

// text is the text of the first choice or, without any, the words of its sound.
func (o *output) text() string {
	if len(o.choices) == 0 {
		return ""
	}
	return cmp.Or(o.choices[0].text(), o.choices[0].spoken())
}

// advance prepares the output for the continuation of its choice, after a body.
func (o *output) advance(b *upstreamBody) {
	o.firstJSON = cmp.Or(o.firstJSON, b.json)
	o.priorUsage = strictjson.AddUsage(o.priorUsage, []byte(b.usage))
	o.continuing = true
}

// proceed lets the choice continue after the calls, with messages that the agent does not
// see.
func (l *outputChoice) proceed(messages []string, speech []spokenTurn, calls []*intercept.Unit) {
	l.prior.hidden = append(l.prior.hidden, messages...)
	l.prior.speech = append(l.prior.speech, speech...)
	if l.prior.count++; intercept.Denies(calls) {
		l.prior.denials++
	}
	l.prior.free = l.prior.free || intercept.Frees(calls)
}

// stop ends every choice that has not ended with the message of an aborted run.
func (o *output) stop(message string) {
	for _, l := range o.choices {
		if !l.sent.finish {
			l.notice = message
		}
	}
}

// send notes that the agent gets a delta.
func (l *outputChoice) send(d *choiceDelta) {
	l.sent.role = l.sent.role || d.role
	l.sent.finish = l.sent.finish || d.finish != ""
	if l.sent.audio == "" {
		l.sent.audio = strings.Clone(d.audio)
	}
}

// notices are the events of all notices that the agent does not have, each with an end.
func (o *output) notices() (out []intercept.Event) {
	for _, l := range o.choices {
		out = append(out, l.closingNotice(&o.head, true)...)
	}
	return out
}

// closingNotice has the notice of the choice, if it has one that the agent does not have.
func (l *outputChoice) closingNotice(head *chunkHead, end bool) []intercept.Event {
	if l.notice == "" || l.sent.notice {
		return nil
	}
	role := ""
	if !l.sent.role {
		role = `"role":"assistant",`
	}
	l.sent.notice, l.sent.role, l.sent.finish = true, true, end
	text := strictjson.Paragraph(l.text(), l.notice)
	out := []intercept.Event{head.event(choiceJSON(l.index, role+`"content":`+strictjson.Quote(text), "null"))}
	if end {
		out = append(out, head.event(choiceJSON(l.index, "", l.now.stopReason())))
	}
	return out
}
