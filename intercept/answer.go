package intercept

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Answer reads the upstream's answers to one request and decides what the agent gets:
// Begin, Write until the upstream's body ends, End, then Resolve with a ruling for each
// of Calls. If Resolve asks for another upstream request, the same again with its
// answer.
type Answer struct {
	codec  Codec
	limits Limits

	body      Body // the current upstream body
	traits    Traits
	texts     strictjson.Texts // of the events of the body
	calls     []*Unit          // of the body: as they began, after its end in the order of the codec
	contents  Contents         // of the body, after its end
	out       PassBuffer
	kept      HoldBuffer[heldPart]
	templates templates
	reading   Part
	plan      Plan
	complete  bool    // the body has ended, by its contents
	left      []*Unit // calls that have left before the end of the body
	ripe      bool    // more may leave, see [Answer.Ripe]
	waits     bool    // no more leave

	continued bool // after a denial
	budget    budget
	unended   string // what the last bytes that went out lack of the end of their event
}

// NewAnswer returns the reader of the answers to a request.
func NewAnswer(r Request, limits Limits) *Answer {
	return &Answer{codec: r.Codec(limits), limits: limits, budget: budget{max: limits.MaxBytes, maxCalls: limits.MaxCalls}}
}

// UseFrame sets the frame of the bodies of the answer, where the connection has decided it and not
// their first bytes. A frame bounds the bytes that it buffers itself. Call it before Begin.
func (a *Answer) UseFrame(newFrame func() Frame) { a.body.NewFrame = newFrame }

// Begin readies the answer for the next upstream response.
func (a *Answer) Begin() {
	a.calls, a.contents, a.kept, a.templates, a.complete = nil, Contents{}, HoldBuffer[heldPart]{}, templates{}, false
	a.left, a.ripe, a.waits = nil, false, false
	a.budget.buffered, a.budget.calls, a.budget.errors = 0, 0, 0
	a.body.Begin(a.limits.MaxBytes)
	a.traits = a.codec.Begin()
	a.texts = strictjson.Texts{Names: a.traits.Texts}
}

// Write takes bytes of the upstream's body and returns those that may go to the agent at
// once. They alias p or memory that the next call reuses. An error is an [*Error]: the
// rest of the answer must not reach the agent.
func (a *Answer) Write(p []byte) ([]byte, error) {
	lead, err := a.body.Write(p)
	for a.out.Add(lead); err == nil; {
		next, ok, failed := a.body.Next()
		if err = failed; !ok {
			break
		}
		err = a.part(next, false)
	}
	return a.out.Take(), err
}

// End takes the end of the upstream's body. Framed reports whether the framing of the
// connection showed it; a connection that was closed may have been cut.
func (a *Answer) End(framed bool) (out []byte, err error) {
	switch a.body.Form() {
	case FormWhole:
		err = a.readWhole(framed)
	case FormStream:
		out, err = a.endStream()
	default:
		out = a.body.Rest()
	}
	if err == nil {
		a.contents, err = a.codec.Close(framed || a.body.Form() != FormStream, a.held())
	}
	if err == nil {
		a.calls = a.contents.Calls
		err = a.checkLeft()
	}
	return out, err
}

// readWhole takes a body that is one event.
func (a *Answer) readWhole(framed bool) error {
	p := &a.reading
	*p = Part{Bytes: a.body.Rest(), Whole: true, answer: a}
	switch err := a.body.frame().Parse(p); {
	case err != nil && !framed:
		return Cut()
	case err != nil:
		return err
	}
	if err := a.limits.quoted(p.Payloads, false, &a.budget); err != nil {
		return err
	}
	return a.codec.Read(p)
}

// endStream takes a last part without a blank line.
func (a *Answer) endStream() ([]byte, error) {
	if rest := a.body.Rest(); len(rest) > 0 {
		before := a.kept.Len()
		if err := a.part(rest, true); err != nil {
			return a.out.Take(), err
		}
		if a.kept.Len() <= before { // it went out
			a.unended = a.body.frame().Unended(rest)
		}
	}
	return a.out.Take(), nil
}

// part takes one part of the stream: it passes or is held.
func (a *Answer) part(part []byte, last bool) error {
	if !last {
		if isKnown, err := a.known(part); isKnown {
			return err
		}
	}
	p := &a.reading
	*p = Part{Bytes: part, Last: last, answer: a, texts: &a.texts, callless: !a.continued && len(a.calls) == 0}
	if err := a.body.frame().Parse(p); err != nil {
		return err
	}
	if err := a.body.frame().Check(p); err != nil {
		return err
	}
	if err := a.codec.Read(p); err != nil {
		return err
	}
	if err := a.checkLeft(); err != nil {
		return err
	}
	a.complete = a.complete || p.Complete
	switch {
	case p.Failed:
		return a.fail(p)
	case a.mayLeave(p):
		return a.pass(p)
	}
	return a.hold(p)
}

// mayLeave reports whether a part reaches the agent before the calls of the body are ruled on:
// it has none, and nothing before it waits, unless every reader reads it before that. If calls have left, the end of the
// answer waits for the end of the body.
func (a *Answer) mayLeave(p *Part) bool {
	switch {
	case p.Withheld || slices.ContainsFunc(p.units, (*Unit).isCall):
		return false
	case a.held():
		return p.Overtakes
	case slices.ContainsFunc(a.calls, (*Unit).pending): // the list of a response shows it first
		return false
	}
	return !p.Ends || (!a.continued && len(a.left) == 0)
}

// pass lets the part go, as it came or rewritten.
func (a *Answer) pass(p *Part) error {
	if p.Rewritten {
		a.plan = Plan{}
		events, err := a.codec.Rewrite(p, &a.plan)
		if err == nil {
			a.out.Add(a.rendered(p, events))
		}
		return err
	}
	a.out.Add(p.Bytes)
	a.codec.Disposed(p, Sent)
	a.templates.learn(a.body.frame(), p)
	return nil
}

// hold keeps the part back.
func (a *Answer) hold(p *Part) error {
	a.codec.Disposed(p, Held)
	if p.Spent && (a.held() || !slices.ContainsFunc(p.units, (*Unit).waiting)) {
		a.templates.learn(a.body.frame(), p)
		return nil
	}
	if err := a.kept.Hold(p.Bytes, heldPart{p.units, p.Withheld || p.Ends}, a.limits.MaxBytes); err != nil {
		return err
	}
	a.templates.learn(a.body.frame(), p)
	return nil
}

// fail passes an error that upstream reports inside a good answer, and voids the held
// parts.
func (a *Answer) fail(p *Part) error {
	if slices.ContainsFunc(p.units, (*Unit).isCall) {
		return NotUnderstood("it reports an error and a call in one event")
	}
	if err := a.limits.quoted(p.Payloads, true, &a.budget); err != nil {
		return err
	}
	p.Void()
	a.Forget() // an event of a call after the error is refused, of a known form too
	return a.pass(p)
}

// quoted refuses an error that quotes what the agent must not see. Failed reports that the
// payloads are about an error; in others only the field error is. To check one costs a reading
// of the request, so b bounds them.
func (l *Limits) quoted(payloads [][]byte, failed bool, b *budget) error {
	if l.Quotes == nil {
		return nil
	}
	quotes := l.Quotes()
	if quotes == nil {
		return nil
	}
	for _, failure := range payloads {
		if b.errors++; b.errors > maxErrors {
			return NotUnderstood("it has more than %d events after an error", maxErrors)
		}
		if response := gjson.GetBytes(failure, "response"); response.Exists() {
			failure = []byte(response.Get("error").Raw) // the rest repeats the request
		} else if !failed {
			failure = []byte(gjson.GetBytes(failure, "error").Raw)
		}
		if quotes(failure) {
			return &Error{Code: CodeUpstreamUnreachable, Reason: "the upstream reports an error in its answer; the text of the error was withheld: it quotes content that is hidden from the agent"}
		}
	}
	return nil
}

// maxErrors is how many events of a body are compared with the request.
const maxErrors = 100

// heldPart describes a held part.
type heldPart struct {
	units []*Unit // of its events
	waits bool    // it waits for the end of the body, and so do all parts after it
}

// known takes a part of a known form: text, which passes or is held as the part from which the
// form was learned, or a piece of the input of a call that is held.
func (a *Answer) known(part []byte) (bool, error) {
	t, texts := a.templates.match(a.body.frame(), part)
	held := a.held()
	if t == nil || (t.Call != nil && (!held || t.Call.left)) {
		return false, nil
	}
	added, size, ok := t.Repeater.Repeat(texts, held)
	if !ok {
		return false, nil
	}
	if err := a.budget.buffer(size); err != nil {
		return true, err
	}
	switch {
	case t.Call != nil:
		return true, a.budget.call(len(added))
	case !held || t.Overtakes:
		a.out.Add(part)
		return true, nil
	}
	return true, a.kept.Hold(part, heldPart{units: t.Units}, a.limits.MaxBytes)
}

// Forget makes the answer decode the next events: the forms that it has learned no
// longer apply.
func (a *Answer) Forget() { a.templates = templates{} }

// Shrink reduces the memory of an answer after End: its calls may wait for people for
// hours.
func (a *Answer) Shrink() {
	a.kept.Pack()
	a.body.Shrink()
	a.templates, a.reading, a.plan, a.texts = templates{}, Part{}, Plan{}, strictjson.Texts{}
}

// Await readies the answer for heartbeats before upstream has sent a byte. From then on the
// answer has this form, unless another was decided before.
func (a *Answer) Await(streamed bool) {
	if a.body.Kind() != FormUnknown {
		return
	}
	a.body.Must = FormWhole
	if streamed {
		a.body.Must = FormStream
	}
}

// Streamed reports whether the body is an event stream. It is false before the first
// byte that decides, unless the form was decided before.
func (a *Answer) Streamed() bool { return a.body.Kind() == FormStream }

// Complete reports whether the contents of the body have ended, although upstream has
// not closed it yet.
func (a *Answer) Complete() bool { return a.complete }

// Holding reports whether bytes are kept back.
func (a *Answer) Holding() bool { return a.body.Form() == FormWhole || a.held() }

// held reports whether parts of a stream are kept back.
func (a *Answer) held() bool { return a.kept.Len() > 0 }

// Pending reports whether calls of an answer need a ruling, after [Answer.End].
func (a *Answer) Pending() bool { return slices.ContainsFunc(a.calls, (*Unit).pending) }

// Calls lists the calls that need a ruling, after End.
func (a *Answer) Calls() (list []Call) {
	for _, u := range a.pending() {
		list = append(list, a.codec.Call(u))
	}
	return list
}

// pending lists the calls that need a ruling.
func (a *Answer) pending() (list []*Unit) {
	for _, u := range a.calls {
		if u.pending() {
			list = append(list, u)
		}
	}
	return list
}

// Recalled lists the rulings that earlier requests for the same answer have made on calls of the
// body, after End and before Resolve.
func (a *Answer) Recalled() (list []Ruling) {
	for _, u := range a.calls {
		if u.Call && !u.Void && u.ruled {
			list = append(list, u.ruling)
		}
	}
	return list
}

// Kept is upstream's id of the body that has ended, if agents may ask for the same answer again by
// it; "" else.
func (a *Answer) Kept() string { return a.contents.Kept }

// Text is the model's text for the user in this answer, after End and before the next Begin.
func (a *Answer) Text() string {
	if a.contents.Text == nil {
		return ""
	}
	return strings.TrimSpace(a.contents.Text())
}

// Heartbeat returns bytes that keep a client waiting between two events, in the given
// form: an event of the dialect, or a comment if none fits. A whole answer is kept alive
// by blanks before the JSON. It is nil before the form of the answer is known.
func (a *Answer) Heartbeat(heartbeat Heartbeat) []byte {
	form := a.body.Kind()
	if form == FormUnknown {
		return nil
	}
	if a.mustNotGrow() {
		heartbeat = HeartbeatComment
	}
	before, frame := []byte(a.unended), a.body.frame()
	a.unended = ""
	if form == FormStream && heartbeat != HeartbeatComment {
		if events := a.codec.Heartbeat(heartbeat); len(events) > 0 {
			return a.framed(before, events)
		}
	}
	return append(before, frame.Idle()...)
}

// mustNotGrow reports whether nothing is held and an event of heldcall's would be one too
// many: after the last event, or in a stream that goes out with upstream's numbers.
func (a *Answer) mustNotGrow() bool {
	numbered := a.traits.Numbered && !a.continued
	return !a.Holding() && (a.complete || numbered)
}

// Fail ends an answer that has begun with e: a stream by events, a whole answer by an
// error in place of its body.
func (a *Answer) Fail(e *Error) []byte {
	events := a.codec.Fail(e, a.body.Kind() == FormWhole)
	return a.framed([]byte(a.unended), events)
}

// rendered returns a part in which other events are in place of its own: whole events, or the same
// part if nothing changes and it is about no call.
func (a *Answer) rendered(p *Part, events []Event) []byte {
	switch {
	case p.has(events) && len(events) == 0:
		return p.Bytes
	case p.has(events):
		return append(p.Bytes[:len(p.Bytes):len(p.Bytes)], a.body.frame().Unended(p.Bytes)...)
	}
	return a.framed(nil, events)
}

// framed appends events in the frame of the answer to dst.
func (a *Answer) framed(dst []byte, events []Event) []byte {
	frame := a.body.frame()
	for _, e := range events {
		dst = frame.Append(dst, e)
	}
	return dst
}
