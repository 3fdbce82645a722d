package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// upstreamBody is one upstream body as far as it was read.
type upstreamBody struct {
	choices []*choice
	opened  int       // how many calls they have
	head    chunkHead // of the first event
	latest  *call     // the call of the latest fragment
	json    string    // of a whole answer
	unread  []byte    // a whole answer without calls, which is not decoded
	usage   string
	whole   bool // it is one JSON value
	done    bool // it has [DONE]
	failed  bool // it reports an error
}

// known returns the choice with an index, nil where there is none.
func (b *upstreamBody) known(index int) *choice {
	for _, c := range b.choices {
		if c.index == index {
			return c
		}
	}
	return nil
}

// choice returns the choice with an index, which it adds if it is new.
func (b *upstreamBody) choice(index int, o *output) (*choice, error) {
	if c := b.known(index); c != nil {
		return c, nil
	}
	c := &choice{index: index}
	if err := o.assign(c, b); err != nil {
		return nil, err
	}
	b.choices = append(b.choices, c)
	return c, nil
}

// open counts n more calls.
func (b *upstreamBody) open(n int) error {
	if b.opened += n; b.opened > maxAllCalls {
		return intercept.NotUnderstood("it has more than %d calls", maxAllCalls)
	}
	return nil
}

// end notes whether a part has [DONE], and reports whether an earlier part had.
func (b *upstreamBody) end(done bool) (late bool) {
	late, b.done = b.done, b.done || done
	return late
}

// observe notes the error and the usage of a chunk.
func (b *upstreamBody) observe(c *chunk) {
	b.failed = b.failed || c.failed
	if c.usage != "" {
		b.usage = c.usage
	}
}

// learnHead keeps the head of the first chunk, and reports whether h is it. Azure sends
// an empty id before the real one, so it counts only until there is another.
func (b *upstreamBody) learnHead(h chunkHead, p *intercept.Part) bool {
	named := b.head.id != "" && b.head.id != `""`
	if named || h == (chunkHead{}) || (h.id == "" && b.head != chunkHead{}) {
		return false
	}
	if h.id != b.head.id {
		p.Forget()
	}
	b.head = h
	return true
}

// heldLeft notes that no part of the body is held, any more or yet.
func (b *upstreamBody) heldLeft() {
	for _, c := range b.choices {
		c.textHeld = false
	}
}

// void forgets the calls, because the answer fails.
func (b *upstreamBody) void() {
	for _, c := range b.choices {
		c.assemblers = [2]assembler{}
	}
}

// close fixes the calls of every choice, after the end of the body.
func (b *upstreamBody) close() {
	for _, c := range b.choices {
		c.final, c.closed = c.calls(), true
	}
}

// ended reports whether a stream has the end that its API defines: [DONE], or a finish
// reason in every choice, after its calls. Without calls, or with a reason before them, the end
// of the body is enough, where its framing marks it.
func (b *upstreamBody) ended(framed bool) bool {
	if b.whole || b.done || b.failed {
		return true
	}
	finished := len(b.choices) > 0
	for _, c := range b.choices {
		finished = finished && c.finished && !c.late
		framed = framed && (c.finished || len(c.calls()) == 0)
	}
	return finished || framed
}

// separable refuses calls that clients read as one: two of the old form in one choice,
// and one without a name beside another.
func (b *upstreamBody) separable() error {
	calls, nameless := 0, false
	for _, c := range b.choices {
		legacy := 0
		for _, call := range c.calls() {
			calls++
			nameless = nameless || call.name == ""
			if call.isLegacy() {
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

// changes reports whether a call of the choice does not reach the agent as the model made it.
func (c *choice) changes(p *intercept.Plan) bool {
	return slices.ContainsFunc(c.calls(), func(call *call) bool {
		ruling, judged := call.Ruling()
		return judged && (p.Aborted != nil || ruling.Action != intercept.Release || ruling.Released != "")
	})
}

// choice is one choice of an upstream body.
type choice struct {
	index      int    // in the upstream body
	raw        string // of a whole answer
	output     *outputChoice
	assemblers [2]assembler        // by place
	messages   [2]assistantMessage // by place
	textHeld   bool                // a held part has text or a role: later text is held too
	ordered    bool                // it has more than text: later events keep their order
	finished   bool                // it has a finish reason, early in the answers of some gateways
	late       bool                // a call, or a part of one, is after its last finish reason
	reasons    int                 // how many held events have a finish reason of it; the last one counts
	lastHeld   string              // the reason of the last of them
	cut        string              // why its last call may be longer than it looks: see [intercept.AmbiguousEnd]
	hasMessage bool                // it has a message, in a stream beside the delta
	closed     bool                // the body has ended; then:
	final      []*call
}

// read reads a delta of the choice without its calls. A message beside deltas repeats
// their text.
func (c *choice) read(d *choiceDelta, p *intercept.Part) error {
	c.finish(d)
	c.hasMessage = c.hasMessage || d.repeated
	streamed := c.textPlace(d) == inDelta
	for _, t := range d.texts {
		if t.place == inMessage && streamed {
			continue
		}
		if err := p.Buffer(c.messages[t.place].add(t.field, t.value)); err != nil {
			return err
		}
	}
	return nil
}

// finish notes the finish reason of a delta.
func (c *choice) finish(d *choiceDelta) {
	if d.finish != "" {
		c.finished, c.late = true, false
	} else if len(d.calls) > 0 {
		c.late = c.finished
	}
	c.cut = cmp.Or(intercept.AmbiguousEnd(d.finish), c.cut)
}

// textPlace returns the place of a delta whose text counts: a message beside deltas
// repeats them.
func (c *choice) textPlace(d *choiceDelta) messagePlace {
	isDelta := func(t deltaText) bool { return t.place == inDelta }
	if c.messages[inDelta].any() || slices.ContainsFunc(d.texts, isDelta) {
		return inDelta
	}
	return inMessage
}

// keepOrder notes that the choice has more than text.
func (c *choice) keepOrder() { c.ordered = true }

// hold notes that a delta of the choice is held. NamesCall reports that its text may
// name a call.
func (c *choice) hold(d *choiceDelta, namesCall bool) {
	if d.finish != "" {
		c.lastHeld = strings.Clone(d.finish)
		c.reasons++
	}
	if d.contents || (d.role && !c.output.sent.role) || (d.carries && !namesCall) {
		c.textHeld = true
	}
}

// calls lists the calls of the choice. Where a provider sends a message beside the
// delta, the calls of both have to be the same. Otherwise all are listed as ambiguous.
func (c *choice) calls() []*call {
	if c.closed {
		return c.final
	}
	delta, message := &c.assemblers[inDelta], &c.assemblers[inMessage]
	if len(message.calls) == 0 || delta.sameAs(message) {
		return delta.calls
	}
	if len(delta.calls) == 0 {
		return message.calls
	}
	all := slices.Concat(delta.calls, message.calls)
	for _, call := range all {
		call.AddAmbiguity("The answer gives its calls twice, and the two differ.")
	}
	return all
}

// stopReason is the finish reason of the choice with a notice in place of its calls: raw, for the calls if the agent has some of
// them, because it has to answer these.
func (c *choice) stopReason() string {
	if slices.ContainsFunc(c.units(), (*intercept.Unit).Left) {
		return `"tool_calls"`
	}
	return `"stop"`
}

// units lists the calls of the choice.
func (c *choice) units() (list []*intercept.Unit) {
	for _, call := range c.calls() {
		list = append(list, &call.Unit)
	}
	return list
}

// message is the model's message in the choice.
func (c *choice) message() *assistantMessage {
	if d := &c.messages[inDelta]; d.any() {
		return d
	}
	return &c.messages[inMessage]
}
