package chat

import (
	"slices"

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
	foreign bool // it has a role other than assistant
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

// advance notes the call of a fragment, and returns that of the fragment before.
func (b *upstreamBody) advance(c *call) (before *call) {
	before, b.latest = b.latest, c
	return before
}

// observe notes the error and the usage of a chunk.
func (b *upstreamBody) observe(c *chunk) {
	b.failed = b.failed || c.failed
	if c.usage != "" {
		b.usage = c.usage
	}
}

// learnHead keeps the head of the first chunk, and reports whether h is it. Azure sends
// an empty id before the real one, so it counts only until there is another. A call that
// begins before the real id is not uniform: after the real id openai-go drops events
// without it.
func (b *upstreamBody) learnHead(h chunkHead, p *intercept.Part) bool {
	named := b.head.id != "" && b.head.id != `""`
	if named || h == (chunkHead{}) || (h.id == "" && b.head != chunkHead{}) {
		return false
	}
	if h.id != b.head.id {
		p.Forget()
		for _, c := range b.choices {
			for _, call := range c.calls() {
				call.Odd = true
			}
		}
	}
	b.head = h
	return true
}

// changeRole notes a role other than assistant. LangChain uses it for all later events,
// of every choice, and reads no call in them.
func (b *upstreamBody) changeRole() error {
	b.foreign = true
	for _, c := range b.choices {
		for _, call := range c.calls() {
			if call.Begun() && !call.whole() {
				return intercept.NotUnderstood("the role changes within a call of a tool that is allowed by name, after its beginning had passed")
			}
			call.Odd = true
		}
	}
	return nil
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
		c.final, c.uniform, c.closed = c.calls(), b.uniform(c), true
	}
}

// ended reports whether a stream has the end that its API defines: [DONE], or a finish
// reason in every choice. Without calls the end of the body is enough, where its framing
// marks it.
func (b *upstreamBody) ended(framed bool) bool {
	if b.whole || b.done || b.failed {
		return true
	}
	finished := len(b.choices) > 0
	for _, c := range b.choices {
		finished = finished && c.finished
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
			if call.kind == kindLegacy {
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

// othersCall reports whether a choice other than c has calls. Some clients read all
// choices as one.
func (b *upstreamBody) othersCall(c *choice) bool {
	return slices.ContainsFunc(b.choices, func(other *choice) bool { return other != c && len(other.calls()) > 0 })
}

// withinAnother reports whether a call of a choice other than c has passed in part.
// Clients that read all choices as one would add later fragments to it.
func (b *upstreamBody) withinAnother(c *choice) bool {
	for _, other := range b.choices {
		for _, call := range other.assemblers[inDelta].calls {
			if other != c && call.Begun() && !call.whole() {
				return true
			}
		}
	}
	return false
}

// uniform reports whether all calls of a choice are uniform, see uniform.go. In some
// clients a message beside the deltas replaces the calls that these have built. Some read
// all choices of a stream as one, and add a fragment of a call to the call with the same
// number in another choice.
func (b *upstreamBody) uniform(c *choice) bool {
	if c.closed {
		return c.uniform
	}
	calls := c.calls()
	if len(calls) == 0 {
		return true
	}
	odd := slices.ContainsFunc(calls, func(call *call) bool { return call.Odd })
	return !odd && !c.hasMessage && (b.whole || !b.othersCall(c))
}

// canonical reports whether the agent gets the calls of a choice in canonical form,
// because one of them is not uniform, is edited, or does not reach the agent.
func (b *upstreamBody) canonical(c *choice, p *intercept.Plan) bool {
	return !b.uniform(c) || slices.ContainsFunc(c.calls(), func(call *call) bool {
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
	finished   bool                // it has a finish reason
	truncated  bool                // the finish reason is length
	hasMessage bool                // it has a message, in a stream beside the delta
	callsSent  bool                // the agent has its calls in canonical form
	closed     bool                // the body has ended; then:
	final      []*call
	uniform    bool
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
	c.finished = c.finished || d.finish != ""
	c.truncated = c.truncated || d.finish == "length"
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

// verify interrupts the calls of the choice that pass unbuffered and are ambiguous.
// Ended reports that no fragment should follow.
func (c *choice) verify(ended bool) {
	calls := c.assemblers[inDelta].calls
	for i, call := range calls {
		last := ended && i == len(calls)-1
		if last && c.truncated && call.Passing() {
			call.AddAmbiguity(intercept.AmbiguousCut)
		}
		if call.Passing() && (len(call.Ambiguities) > 0 || (last && !call.complete())) {
			call.Interrupt()
		}
	}
}

// keepOrder notes that the choice has more than text.
func (c *choice) keepOrder() { c.ordered = true }

// hold notes that a delta of the choice is held. NamesCall reports that its text may
// name a call.
func (c *choice) hold(d *choiceDelta, namesCall bool) {
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
