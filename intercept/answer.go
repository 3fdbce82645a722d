package intercept

import "strings"

// Answer reads the upstream's answers to one request and decides what the agent
// gets: Begin, Write until the upstream's body ends, End, then Settle with a
// ruling for each of Calls; when Settle asks for another upstream request, the
// same again with its answer.
type Answer struct {
	codec  Codec
	traits Traits
	limits Limits

	body      Body // of upstream, the current one
	out       PassBuffer
	kept      HoldBuffer[[]*Unit] // with the units that the events of a part are about
	calls     []*Unit             // of the body: as they began, after its end in the order of the codec
	waiting   *Unit               // a call that may pass by its name, of which only the beginning came
	complete  bool                // the body has said its last word
	templates templates
	reading   Part
	plan      Plan

	continued int // how often the answer has gone on after a denial
	budget    budget
	unended   string // what the last event that went out lacks of its end
}

// NewAnswer returns the reader of the answers to a request.
func NewAnswer(r Request, limits Limits) *Answer {
	codec := r.Codec(limits)
	return &Answer{codec: codec, traits: codec.Traits(), limits: limits, budget: budget{max: limits.MaxBytes}}
}

// Begin readies the answer for the next upstream response.
func (a *Answer) Begin(string) {
	a.kept, a.calls, a.waiting, a.complete = HoldBuffer[[]*Unit]{}, nil, nil, false
	a.templates, a.budget.buffered = templates{}, 0
	a.body.Begin(a.limits.MaxBytes)
	a.codec.Begin()
}

// Write takes bytes of the upstream's body and returns those that may go to
// the agent at once. They alias p or memory that the next call reuses. An
// error is an [*Error]: the rest of the answer must not reach the agent.
func (a *Answer) Write(p []byte) ([]byte, error) {
	return a.body.Feed(p, &a.out, a.part)
}

// End takes the end of the upstream's body. Framed reports whether its
// framing said so; a connection that just closed may have been cut.
func (a *Answer) End(framed bool) ([]byte, error) {
	out, err := a.body.Close(framed, a.readWhole, a.endStream)
	if err == nil {
		err = a.codec.Close(framed || a.body.Form() != FormStream, a.held())
	}
	if err == nil {
		a.calls = a.codec.Calls()
	}
	return out, err
}

func (a *Answer) readWhole(framed bool) error {
	value, err := a.body.Value(framed)
	if err != nil {
		return err
	}
	a.reading = Part{Bytes: value, answer: a}
	return a.codec.ReadWhole(&a.reading)
}

// endStream takes a last part without a blank line.
func (a *Answer) endStream(bool) ([]byte, error) {
	if rest := a.body.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if !a.held() {
			a.unended = Unended(rest)
		}
	}
	return a.out.Take(), nil
}

// Shrink makes what the answer keeps small after End: its calls may wait for
// people for hours.
func (a *Answer) Shrink() {
	a.kept.Pack()
	a.body.Shrink()
	a.templates, a.reading, a.plan = templates{}, Part{}, Plan{}
}

// Streamed reports whether the body is an event stream; it is false before
// the first byte that tells.
func (a *Answer) Streamed() bool { return a.body.Form() == FormStream }

// Complete reports whether the body has said its last word, although
// upstream has not closed it yet.
func (a *Answer) Complete() bool { return a.complete }

// Holding reports whether bytes are kept back.
func (a *Answer) Holding() bool { return a.body.Form() == FormWhole || a.held() }

// held reports whether parts of a stream are kept back.
func (a *Answer) held() bool { return a.kept.Len() > 0 }

// Calls lists the calls that need a ruling, after End.
func (a *Answer) Calls() (list []Call) {
	for _, u := range a.calls {
		if !u.pending() {
			continue
		}
		a.codec.Judge(u)
		c := a.codec.Call(u)
		if a.codec.Canonical(u) {
			c.Flags = append(c.Flags, FlagCanonical)
		}
		list = append(list, c)
	}
	return list
}

// Passed lists the calls that went on unbuffered because their tool is allowed
// by name, after End.
func (a *Answer) Passed() (list []Call) {
	for _, u := range a.calls {
		if u.passed {
			list = append(list, a.codec.Call(u))
		}
	}
	return list
}

// Text is what the model has said to the user in this answer.
func (a *Answer) Text() string { return strings.TrimSpace(a.codec.Text()) }

// Heartbeat is what keeps a client waiting between two events, in the given
// form: an event of the dialect, or a comment where none fits. A whole answer is kept
// alive by blanks before the JSON. It is nil before the form of the answer is known.
func (a *Answer) Heartbeat(pulse Heartbeat) []byte {
	form := a.body.Kind()
	if form == FormUnknown {
		return nil
	}
	if event := a.codec.Heartbeat(form, pulse); event != nil {
		return event
	}
	if form == FormWhole {
		return []byte("\n")
	}
	return []byte(": keepalive\n")
}

// Fail ends an answer that has begun with e: a stream by events, a whole answer
// by an error in place of its body.
func (a *Answer) Fail(e *Error) []byte {
	if a.body.Kind() == FormWhole {
		return a.codec.Fail(nil, e, true)
	}
	return a.codec.Fail([]byte(a.unended), e, false)
}
