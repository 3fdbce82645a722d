package chat

import (
	"cmp"

	"github.com/heldcall/heldcall/intercept"
)

// passage is the way of one part through the answer: it is read, its fragments
// go to their calls, and it passes or is held.
type passage struct {
	*answer
	part     []byte
	payloads [][]byte
	chunks   []*chunk
	refs     []ref
	done     bool
	last     bool // the stream has ended within it
	words    bool // it has nothing but words, or what comes before them: see onlyWords

	names       bool // it may name a call outside of it
	uneven      bool // it has a part of a call and is not uniform
	interrupted bool // a call that passed is in doubt
}

func (p *passage) run() error {
	for _, payload := range p.payloads {
		switch {
		case intercept.IsBlank(payload):
		case intercept.IsDone(payload):
			p.done = true
		default:
			c, err := decode(string(payload))
			if err != nil {
				return err
			}
			p.chunks = append(p.chunks, c)
		}
	}
	late := p.answer.done
	if err := p.observe(); err != nil {
		return err
	}
	p.words = p.onlyWords()
	if late && len(p.refs) > 0 {
		return intercept.NotUnderstood("a call stands behind the end of the stream")
	}
	if p.failed {
		return p.fault()
	}
	if p.passes() {
		return p.pass()
	}
	return p.keep()
}

// observe notes what the part says.
func (p *passage) observe() error {
	p.answer.done = p.answer.done || p.done
	for _, c := range p.chunks {
		p.failed = p.failed || c.failed
		p.learnHead(c.head)
		if c.usage != "" {
			p.usage = c.usage
		}
		uniform := c.hasCalls() && p.uniform(c)
		for i := range c.choices {
			if err := p.choice(&c.choices[i], uniform); err != nil {
				return err
			}
		}
	}
	for _, c := range p.choices {
		if p.done {
			p.verify(c, true)
		}
	}
	p.names = p.namesCall()
	return nil
}

// learnHead keeps the head of the answer's first chunk; an empty id, which Azure
// sends before the real one, counts only until there is another. Calls that begin
// before the real id are not uniform: openai-go drops events without it after that.
func (p *passage) learnHead(h head) {
	known := p.began.id != "" && p.began.id != `""`
	if known || h == (head{}) || (h.id == "" && p.began != head{}) {
		return
	}
	if h.id != p.began.id {
		p.shapes = shapes{}
		for _, c := range p.choices {
			for _, call := range c.calls() {
				call.uneven = true
			}
		}
	}
	p.began = h
	if p.going == nil {
		p.head = h.readable()
	}
}

// choice reads the part of an event about one choice. Uniform reports whether the event
// itself is.
func (p *passage) choice(d *choiceDelta, uniform bool) error {
	c, err := p.answer.choice(d.index)
	if err != nil {
		return err
	}
	uniform = uniform && !c.announced
	c.finish(d)
	c.repeated = c.repeated || d.repeated
	if err := p.listen(c, d.texts); err != nil {
		return err
	}
	first := len(p.refs)
	for i := range d.calls {
		if err := p.fragment(c, &d.calls[i], first, uniform); err != nil {
			return err
		}
	}
	p.verify(c, d.finish != "")
	return nil
}

// fragment gives a fragment to its call. The refs of the event begin at first.
func (p *passage) fragment(c *choice, f *fragment, first int, uniform bool) error {
	r := &c.rosters[f.place]
	if len(r.calls) == maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	streams := p.streams(c, f)
	call, opened := r.take(f)
	for _, before := range p.refs[first:] {
		if before.call == call {
			streams, uniform = false, false
			call.Doubt("Two entries of one event are read as one call.")
		}
	}
	if !uniform || !r.uniform(f, call, opened, p.latest) {
		call.uneven, p.uneven = true, true
		streams = streams && !opened
	}
	if opened && p.withinAnother(c) {
		return intercept.NotUnderstood("a call begins within one of another choice that is allowed by name")
	}
	if n := len(r.calls); opened && n > 1 && r.calls[n-2].passing() && !r.calls[n-2].complete() {
		p.interrupt(r.calls[n-2])
	}
	p.latest = call
	p.refs = append(p.refs, ref{call, opened})
	p.check(call, f, streams)
	return p.hear(len(f.args))
}

// listen remembers what the model says. A message beside delta repeats it.
func (p *passage) listen(c *choice, texts []text) error {
	streamed := c.says[inDelta].any()
	for _, t := range texts {
		streamed = streamed || t.place == inDelta
	}
	for _, t := range texts {
		if t.place == inMessage && streamed {
			continue
		}
		if err := p.hear(c.says[t.place].add(t.field, t.value)); err != nil {
			return err
		}
	}
	return nil
}

// hear bounds what is remembered of what the model says.
func (a *answer) hear(n int) error {
	if a.heard += n; a.limits.MaxBytes > 0 && a.heard > a.limits.MaxBytes {
		return intercept.TooLong()
	}
	return nil
}

// passes decides whether the part may go to the agent now.
func (p *passage) passes() bool {
	if p.names || p.interrupted {
		return false
	}
	if len(p.refs) > 0 {
		return !p.holding() && p.allowedByName()
	}
	if p.holding() {
		return p.overtakes()
	}
	if p.going != nil && (p.done || p.closes()) {
		return false
	}
	return !p.announcesUnseen()
}

// onlyWords reports whether the part says nothing but text for the user, or what
// stands before anything else in its choice: the role, reasoning. A part with
// more than that binds its choices to the order in which they came.
func (p *passage) onlyWords() bool {
	words := !p.done && len(p.chunks) > 0 && len(p.chunks) == len(p.payloads)
	for _, c := range p.chunks {
		words = words && len(c.choices) > 0
		for i := range c.choices {
			d := &c.choices[i]
			known, err := p.answer.choice(d.index)
			words = words && err == nil && len(d.calls) == 0 && d.finish == "" && (d.contents || !known.bound)
		}
	}
	if words {
		return true
	}
	for _, c := range p.chunks {
		for i := range c.choices {
			if known, err := p.answer.choice(c.choices[i].index); err == nil {
				known.bound = true
			}
		}
	}
	return false
}

// overtakes reports whether the part may go out before those that are held,
// because nothing that is held stands before it in the same choice for the
// reader: text is not delayed behind a held call.
func (p *passage) overtakes() bool {
	if !p.words || p.last {
		return false
	}
	for _, c := range p.chunks {
		for i := range c.choices {
			if known, err := p.answer.choice(c.choices[i].index); err != nil || known.textHeld {
				return false
			}
		}
	}
	return true
}

// closes reports whether the part announces the end of a choice or, after all
// of them, the usage.
func (p *passage) closes() bool {
	for _, c := range p.chunks {
		if c.usage != "" && len(c.choices) == 0 {
			return true
		}
		for i := range c.choices {
			if c.choices[i].finish != "" {
				return true
			}
		}
	}
	return false
}

// announcesUnseen reports whether a finish reason speaks of calls that were not
// there: they may follow.
func (p *passage) announcesUnseen() bool {
	for _, c := range p.chunks {
		if !c.announces() {
			continue
		}
		for i := range c.choices {
			if known, err := p.answer.choice(c.choices[i].index); err != nil || len(known.calls()) == 0 {
				return true
			}
		}
	}
	return false
}

// pass lets the part go, as it came or recast: in a continuation, to belong to the
// answer that the agent has begun to read, and where a call that passes goes on in an
// event that is not uniform.
func (p *passage) pass() error {
	if p.going == nil && !p.uneven {
		p.out.Add(p.part)
		p.note(p.chunks)
		p.learn()
		return nil
	}
	recast, err := p.recast(p.part, p.refs)
	if err != nil {
		return err
	}
	p.out.Add(recast)
	return nil
}

// note remembers what of a message has gone out.
func (a *answer) note(chunks []*chunk) {
	for _, c := range chunks {
		for i := range c.choices {
			if d := &c.choices[i]; d.role || d.finish != "" || d.audio != "" {
				l := a.lane(d.index)
				l.role, l.finish, l.audio = l.role || d.role, l.finish || d.finish != "", cmp.Or(l.audio, d.audio)
			}
		}
	}
}

// keep holds the part back.
func (p *passage) keep() error {
	for _, r := range p.refs {
		if !r.call.passed {
			r.call.check = nil
		}
	}
	for _, c := range p.chunks {
		for i := range c.choices {
			d := &c.choices[i]
			if known, err := p.answer.choice(d.index); err == nil && (d.contents || (d.role && !known.lane.role) || (d.carries && !p.names)) {
				known.textHeld = true
			}
		}
	}
	if err := p.hold(p.part, p.refs); err != nil {
		return err
	}
	p.learn()
	return nil
}

// fault passes an error that upstream reports inside a good answer. What was
// held is void.
func (p *passage) fault() error {
	p.kept = intercept.Kept[[]ref]{}
	for _, c := range p.choices {
		c.rosters = [2]roster{}
	}
	if len(p.refs) > 0 {
		return intercept.NotUnderstood("it reports an error and a call in one event")
	}
	p.out.Add(p.part)
	return nil
}
