package chat

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/history"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/sse"
)

const (
	maxCalls = 512 // in one choice
)

// answer implements [intercept.Codec].
type answer struct {
	req    *history.Request
	limits intercept.Limits
	whole  bool // the answer is one JSON value, no stream

	bodyState   // what is known of the current upstream body
	answerState // what is known of the answer, over all upstream bodies
	batch       eventBatch
}

// bodyState is the state of one upstream body.
type bodyState struct {
	choices []*choice
	began   wire.Head // of the first event, as it came
	latest  *call     // the call of the last fragment
	body    string    // where it is one JSON value and was read
	usage   string
	foreign bool // a role that is not the assistant's was there
	done    bool // [DONE] was there
	failed  bool // an error was reported inside
}

// answerState is what outlives a continuation.
type answerState struct {
	head       wire.Head
	first      string          // the first body, where it is whole and the answer goes on
	outputs    []*outputChoice // in the order they came
	continuing *outputChoice   // what upstream continues, nil in the first body
	priorUsage []byte          // of the bodies before
	open       bool            // it goes on, or may do so again: usage before its end is left out
	records    [][]byte
}

// choice is one of the answers of a turn.
type choice struct {
	index      int // in the upstream body
	output     *outputChoice
	assemblers [2]assembler        // by place
	says       [2]assistantMessage // by place
	textHeld   bool                // a held part carries text or role: later text must wait
	bound      bool                // more than words has come: what follows keeps its place
	announced  bool                // a finish reason was there
	cut        bool                // the finish reason was length
	repeated   bool                // a message was there, in a stream beside the delta
	rendered   bool                // its calls have gone out in canonical form
	final      []*call             // its calls, and whether they are not uniform, after the end of the body
	odd        bool
	closed     bool
}

func newAnswer(r *history.Request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits}
}

// Traits implements [intercept.Codec].
func (*answer) Traits() intercept.Traits { return intercept.Traits{Resumes: true} }

// Begin implements [intercept.Codec].
func (a *answer) Begin() { a.bodyState = bodyState{} }

// Close implements [intercept.Codec].
func (a *answer) Close(framed, _ bool) error {
	if !a.ended(framed) {
		return intercept.Cut()
	}
	if err := a.separable(); err != nil {
		return err
	}
	if a.continuing != nil && len(a.choices) == 0 && !a.failed {
		return intercept.EmptyContinuation()
	}
	for _, c := range a.choices {
		c.final = c.calls()
	}
	for _, c := range a.choices {
		c.odd = a.uneven(c)
	}
	for _, c := range a.choices {
		c.closed = true
	}
	return nil
}

// ended reports whether a stream has its API's own end. Without calls that of the
// body is enough, where its framing marks it.
func (a *answer) ended(framed bool) bool {
	if a.whole || a.done || a.failed || a.finished() {
		return true
	}
	for _, c := range a.choices {
		framed = framed && (c.announced || len(c.calls()) == 0)
	}
	return framed
}

// finished reports whether every choice has announced its end.
func (a *answer) finished() bool {
	for _, c := range a.choices {
		if !c.announced {
			return false
		}
	}
	return len(a.choices) > 0
}

// separable refuses calls that clients read as one: two of the old form in one
// choice, and one without a name beside another.
func (a *answer) separable() error {
	calls, nameless := 0, false
	for _, c := range a.choices {
		legacy := 0
		for _, call := range c.calls() {
			calls++
			nameless = nameless || call.name == ""
			if call.kind == wire.KindLegacy {
				legacy++
			}
		}
		if legacy > 1 {
			return intercept.NotUnderstood("a choice has two different function calls of the old form")
		}
	}
	if nameless && calls > 1 {
		return intercept.NotUnderstood("a call beside another has no name")
	}
	return nil
}

// Calls implements [intercept.Codec].
func (a *answer) Calls() (list []*intercept.Unit) {
	for _, c := range a.choices {
		list = append(list, c.units()...)
	}
	return list
}

// units lists the calls of the choice.
func (c *choice) units() (list []*intercept.Unit) {
	for _, call := range c.calls() {
		list = append(list, &call.Unit)
	}
	return list
}

// Judge implements [intercept.Codec].
func (*answer) Judge(u *intercept.Unit) {
	call := callOf(u)
	if calls := call.choice.calls(); call.choice.cut && calls[len(calls)-1] == call {
		call.AddAmbiguity(intercept.AmbiguousCut)
	}
	call.judge()
}

// Call implements [intercept.Codec].
func (*answer) Call(u *intercept.Unit) intercept.Call {
	c := callOf(u)
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), FreeText: c.kind == wire.KindCustom, Ambiguous: c.Ambiguities}
}

// Canonical implements [intercept.Codec].
func (a *answer) Canonical(u *intercept.Unit) bool { return a.uneven(callOf(u).choice) }

// Text implements [intercept.Codec].
func (a *answer) Text() string {
	l := a.continuing
	if l == nil && len(a.outputs) > 0 {
		l = a.outputs[0]
	}
	if l == nil {
		return ""
	}
	return cmp.Or(l.heard(), l.allSpoken())
}

// Heartbeat implements [intercept.Codec]: a chunk that repeats the stream's own id,
// without choices or with an empty delta of one that has not ended.
func (a *answer) Heartbeat(form intercept.Form, pulse intercept.Heartbeat) []byte {
	if form == intercept.FormWhole || pulse == intercept.HeartbeatComment || a.head.ID == "" {
		return nil
	}
	choices := "[]"
	if pulse == intercept.HeartbeatDelta {
		open := slices.IndexFunc(a.outputs, func(l *outputChoice) bool { return !l.finish })
		if open < 0 {
			return nil
		}
		choices = fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":null}]`, a.outputs[open].index)
	}
	return sse.AppendData(nil, "", []byte(a.head.Chunk(choices)))
}

// Fail implements [intercept.Codec].
func (*answer) Fail(dst []byte, e *intercept.Error, whole bool) []byte {
	if whole {
		return errorBody(e)
	}
	return sse.AppendData(dst, "", errorBody(e))
}

// known returns the choice with an index, nil where there is none.
func (a *answer) known(index int) *choice {
	for _, c := range a.choices {
		if c.index == index {
			return c
		}
	}
	return nil
}

// choice returns the choice with an index, made when it is new.
func (a *answer) choice(index int) (*choice, error) {
	if c := a.known(index); c != nil {
		return c, nil
	}
	c := &choice{index: index}
	if err := a.assign(c); err != nil {
		return nil, err
	}
	a.choices = append(a.choices, c)
	return c, nil
}

// finish notes that a delta ends the choice.
func (c *choice) finish(d *wire.ChoiceDelta) {
	c.announced = c.announced || d.Finish != ""
	c.cut = c.cut || d.Finish == "length"
}

// calls lists the calls of the choice. Where a provider sends `message` beside
// `delta` the two must say the same; calls that only one of them has, or that
// differ, are all listed and doubted.
func (c *choice) calls() []*call {
	if c.closed {
		return c.final
	}
	delta, message := &c.assemblers[wire.InDelta], &c.assemblers[wire.InMessage]
	if len(message.calls) == 0 || delta.sameAs(message) {
		return delta.calls
	}
	if len(delta.calls) == 0 {
		return message.calls
	}
	all := append(append([]*call(nil), delta.calls...), message.calls...)
	for _, call := range all {
		call.AddAmbiguity("The answer gives its calls twice, and the two differ.")
	}
	return all
}

// said is what the model said in the choice.
func (c *choice) said() *assistantMessage {
	if d := &c.says[wire.InDelta]; d.any() {
		return d
	}
	return &c.says[wire.InMessage]
}
