package chat

import (
	"bytes"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

const (
	maxChoices = 128
	maxCalls   = 512 // in one choice
)

// mode is the form of an upstream body, told by its first bytes: labels lie.
type mode int

const (
	modeUnknown mode = iota
	modeStream
	modeWhole
)

// answer implements [intercept.Answer].
type answer struct {
	req    *request
	limits intercept.Limits
	body   []byte // the request that upstream is answering

	turn  // what is known of the current upstream body
	units // what is kept back of it
	past  // what earlier upstream bodies of the same answer said

	mode   mode
	buffer []byte // whole answers: the body so far
	heard  int    // bytes of what the model said that are remembered
	split  sse.Splitter
	shapes shapes
	out    gather
}

// turn is the state of one upstream body.
type turn struct {
	choices []*choice
	usage   string
	done    bool // [DONE] was there
	failed  bool // an error was reported inside
}

// past is what outlives a continuation.
type past struct {
	form          mode // of the first body
	head          head
	continuations int
	hidden        []string     // messages of whole turns the agent does not see
	text          string       // what the agent has read
	goesOn        int          // the index of the choice that said it
	spent         []byte       // usage so far
	sent          map[int]sent // by choice index
	separated     bool         // what was said before a denial is set off from what follows
	unended       string       // what the last event that went out lacks of its end
}

// sent is what of a choice's message has gone out.
type sent struct{ role, finish bool }

// choice is one of the answers of a turn.
type choice struct {
	index     int
	rosters   [2]roster    // by place
	says      [2]utterance // by place
	textHeld  bool         // a held part carries text or role: later text must wait
	announced bool         // a finish reason was there
	cut       bool         // the finish reason was length
	broken    bool         // part of a call passed before it became doubtful
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, body: r.body, past: past{sent: make(map[int]sent)}}
}

// Begin implements [intercept.Answer].
func (a *answer) Begin(string) {
	a.turn, a.units = turn{}, units{}
	a.mode, a.buffer, a.heard = modeUnknown, nil, 0
	a.split = sse.Splitter{Max: a.limits.MaxBytes}
	a.shapes = shapes{}
}

// Write implements [intercept.Answer].
func (a *answer) Write(p []byte) ([]byte, error) {
	switch a.mode {
	case modeUnknown:
		return a.open(p)
	case modeWhole:
		return nil, a.collect(p)
	}
	return a.stream(p)
}

// open takes bytes while the form of the body is not known. Blank lines before
// it pass: they are how some servers keep the connection alive.
func (a *answer) open(p []byte) ([]byte, error) {
	if len(a.buffer) > 0 {
		p = append(a.buffer, p...)
	}
	text := bytes.TrimLeft(p, " \t\r\n")
	lines := 1 + bytes.LastIndexAny(p[:len(p)-len(text)], "\r\n")
	err := a.sniff(text)
	switch {
	case err != nil:
		return p[:lines], err
	case a.mode == modeUnknown:
		a.buffer = bytes.Clone(p[lines:])
		if a.limits.MaxBytes > 0 && len(a.buffer) > a.limits.MaxBytes {
			err = tooLong()
		}
		return p[:lines], err
	case a.mode == modeWhole:
		a.buffer = nil
		return p[:lines], a.collect(p[lines:])
	}
	a.buffer = nil
	a.out.add(p[:lines])
	return a.stream(p[lines:])
}

// collect takes a block of a whole answer.
func (a *answer) collect(p []byte) error {
	if a.buffer = append(a.buffer, p...); a.limits.MaxBytes > 0 && len(a.buffer) > a.limits.MaxBytes {
		return tooLong()
	}
	return nil
}

func tooLong() error { return intercept.NotUnderstood("it is larger than proxy.max_body") }

var bom = []byte("\xef\xbb\xbf")

// sniff tells the form of the body by its first byte that is not blank, if that
// is there.
func (a *answer) sniff(text []byte) error {
	if bytes.HasPrefix(bom, text) {
		return nil // nothing, or the beginning of a byte order mark
	}
	var form mode
	switch c := bytes.TrimPrefix(text, bom)[0]; {
	case c == '{' || c == '[':
		form = modeWhole
	case c == ':' || c == ' ' || c == '\r' || c == '\n' || c >= 'a' && c <= 'z':
		form = modeStream
	default:
		return intercept.NotUnderstood("it is neither JSON nor an event stream")
	}
	if a.continuations > 0 && form != a.form {
		return intercept.NotUnderstood("after a denial it goes on in another form than it began in")
	}
	a.mode, a.form = form, form
	return nil
}

// End implements [intercept.Answer].
func (a *answer) End(framed bool) (out []byte, err error) {
	switch a.mode {
	case modeWhole:
		err = a.readWhole(framed)
	case modeStream:
		out, err = a.endStream(framed)
	default:
		out = a.buffer
	}
	if err == nil && a.continuations > 0 && len(a.choices) == 0 && !a.failed {
		err = intercept.NotUnderstood("after a denial it says nothing")
	}
	return out, err
}

// Streamed implements [intercept.Answer].
func (a *answer) Streamed() bool { return a.mode == modeStream }

// Complete implements [intercept.Answer].
func (a *answer) Complete() bool { return a.done }

// Holding implements [intercept.Answer].
func (a *answer) Holding() bool { return a.mode == modeWhole || a.holding() }

// Calls implements [intercept.Answer].
func (a *answer) Calls() []intercept.Call {
	for _, c := range a.choices {
		if calls := c.calls(); c.cut && len(calls) > 0 {
			calls[len(calls)-1].doubt("The answer was cut off by its length; this call may be longer than it looks.")
		}
	}
	var list []intercept.Call
	for _, c := range a.pending() {
		c.judge()
		list = append(list, c.call())
	}
	return list
}

// Passed implements [intercept.Answer].
func (a *answer) Passed() (list []intercept.Call) {
	for _, c := range a.choices {
		for _, call := range c.calls() {
			if call.passed {
				list = append(list, call.call())
			}
		}
	}
	return list
}

func (c *call) call() intercept.Call {
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), FreeText: c.kind == kindCustom, Ambiguous: c.ambiguous}
}

// pending lists the calls that need a ruling, in the order of the answer.
func (a *answer) pending() (list []*call) {
	for _, c := range a.choices {
		for _, call := range c.calls() {
			if !call.passed {
				list = append(list, call)
			}
		}
	}
	return list
}

// Text implements [intercept.Answer].
func (a *answer) Text() string {
	said := ""
	if len(a.choices) > 0 {
		said = a.choices[0].said().text()
	}
	return strings.TrimSpace(a.text + paragraph(a.text, said))
}

// Heartbeat implements [intercept.Answer]: a comment that ends in one newline,
// which all known clients tolerate, or a chunk without choices that repeats the
// stream's own id. A whole answer is kept alive by blanks before the JSON.
func (a *answer) Heartbeat(event bool) []byte {
	switch {
	case a.mode == modeWhole:
		return []byte("\n")
	case a.mode == modeStream && event && a.head.id != "":
		return sse.AppendData(nil, "", []byte(a.head.chunk("[]")))
	case a.mode == modeStream:
		return []byte(": keepalive\n")
	}
	return nil
}

// Fail implements [intercept.Answer]. A whole answer whose head has gone out is
// failed by an error for its body.
func (a *answer) Fail(e *intercept.Error) []byte {
	if a.form == modeWhole {
		return errorBody(e)
	}
	return sse.AppendData([]byte(a.unended), "", errorBody(e))
}

// choice returns the choice with an index, made when it is new.
func (a *answer) choice(index int) (*choice, error) {
	for _, c := range a.choices {
		if c.index == index {
			return c, nil
		}
	}
	if len(a.choices) == maxChoices {
		return nil, intercept.NotUnderstood("it has more than %d choices", maxChoices)
	}
	c := &choice{index: index}
	a.choices = append(a.choices, c)
	return c, nil
}

// finish notes that a delta ends the choice.
func (c *choice) finish(d *choiceDelta) {
	c.announced = c.announced || d.finish != ""
	c.cut = c.cut || d.finish == "length"
}

// calls lists the calls of the choice. Where a provider sends `message` beside
// `delta` the two must say the same; calls that only one of them has, or that
// differ, are all listed and doubted.
func (c *choice) calls() []*call {
	delta, message := &c.rosters[inDelta], &c.rosters[inMessage]
	if len(message.calls) == 0 || delta.sameAs(message) {
		return delta.calls
	}
	if len(delta.calls) == 0 {
		return message.calls
	}
	all := append(append([]*call(nil), delta.calls...), message.calls...)
	for _, call := range all {
		call.doubt("The answer gives its calls twice, and the two differ.")
	}
	return all
}

// twin returns the call that stands for another one: a call in `message` that
// repeats one in `delta` shares its fate.
func (c *choice) twin(other *call) *call {
	delta, message := &c.rosters[inDelta], &c.rosters[inMessage]
	if other.place == inMessage && len(delta.calls) > 0 && delta.sameAs(message) {
		for i, m := range message.calls {
			if m == other {
				return delta.calls[i]
			}
		}
	}
	return other
}

// said is what the model said in the choice.
func (c *choice) said() *utterance {
	if d := &c.says[inDelta]; d.any() {
		return d
	}
	return &c.says[inMessage]
}

// chunk renders a synthetic chunk with the head of the real ones.
func (h *head) chunk(choices string) string {
	fields := []string{`"object":"chat.completion.chunk"`}
	for _, f := range []struct{ name, raw string }{{"id", h.id}, {"created", h.created}, {"model", h.model}, {"system_fingerprint", h.fingerprint}} {
		if f.raw != "" {
			fields = append(fields, `"`+f.name+`":`+f.raw)
		}
	}
	return "{" + strings.Join(fields, ",") + `,"choices":` + choices + "}"
}
