package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

const (
	maxChoices = 128
	maxCalls   = 512 // in one choice
)

// answer implements [intercept.Answer].
type answer struct {
	req    *request
	limits intercept.Limits

	turn  // what is known of the current upstream body
	past  // what is known of the answer, over all upstream bodies
	ruled // what became of its calls

	upstream intercept.Body
	kept     intercept.Kept[[]ref] // with the calls that the fragments of a part belong to
	heard    int                   // bytes of what the model said that are remembered
	shapes   shapes
	out      intercept.Gather
}

// turn is the state of one upstream body.
type turn struct {
	choices []*choice
	began   head   // of the first event, as it came
	latest  *call  // the call of the last fragment
	whole   string // the body, where it is one JSON value and was read
	usage   string
	foreign bool // a role that is not the assistant's was there
	done    bool // [DONE] was there
	failed  bool // an error was reported inside
}

// past is what outlives a continuation.
type past struct {
	head    head
	first   string  // the first body, where it is whole and the answer goes on
	lanes   []*lane // in the order they came
	going   *lane   // what upstream continues, nil in the first body
	stored  int     // bytes of earlier bodies that are remembered
	spent   []byte  // usage of earlier bodies
	records [][]byte
	unended string // what the last event that went out lacks of its end
}

// choice is one of the answers of a turn.
type choice struct {
	index     int // in the upstream body
	lane      *lane
	rosters   [2]roster    // by place
	says      [2]utterance // by place
	textHeld  bool         // a held part carries text or role: later text must wait
	bound     bool         // more than words has come: what follows keeps its place
	announced bool         // a finish reason was there
	cut       bool         // the finish reason was length
	repeated  bool         // a message was there, in a stream beside the delta
	rendered  bool         // its calls have gone out in canonical form
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits}
}

// Begin implements [intercept.Answer].
func (a *answer) Begin(string) {
	a.turn, a.kept, a.shapes, a.heard = turn{}, intercept.Kept[[]ref]{}, shapes{}, 0
	a.upstream.Begin(a.limits.MaxBytes)
}

// Write implements [intercept.Answer].
func (a *answer) Write(p []byte) ([]byte, error) {
	return a.upstream.Feed(p, &a.out, a.part)
}

// End implements [intercept.Answer].
func (a *answer) End(framed bool) (out []byte, err error) {
	out, err = a.upstream.Close(framed, a.readWhole, a.endStream)
	if err == nil {
		err = a.separable()
	}
	if err == nil && a.going != nil && len(a.choices) == 0 && !a.failed {
		err = intercept.NotUnderstood("after a denial it says nothing")
	}
	return out, err
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

// Shrink implements [intercept.Answer].
func (a *answer) Shrink() {
	a.kept.Pack()
	a.upstream.Shrink()
	a.shapes = shapes{}
}

// Streamed implements [intercept.Answer].
func (a *answer) Streamed() bool { return a.upstream.Form() == intercept.FormStream }

// Complete implements [intercept.Answer].
func (a *answer) Complete() bool { return a.done }

// Holding implements [intercept.Answer].
func (a *answer) Holding() bool { return a.upstream.Form() == intercept.FormWhole || a.holding() }

// Calls implements [intercept.Answer].
func (a *answer) Calls() []intercept.Call {
	for _, c := range a.choices {
		if calls := c.calls(); c.cut && len(calls) > 0 {
			calls[len(calls)-1].Doubt(intercept.DoubtCut)
		}
	}
	var list []intercept.Call
	for _, c := range a.choices {
		uneven := a.uneven(c)
		for _, own := range c.calls() {
			if own.passed {
				continue
			}
			own.judge()
			call := own.call()
			if uneven {
				call.Flags = []string{intercept.FlagCanonical}
			}
			list = append(list, call)
		}
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
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), FreeText: c.kind == kindCustom, Ambiguous: c.Doubts}
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
	l := a.going
	if l == nil && len(a.lanes) > 0 {
		l = a.lanes[0]
	}
	if l == nil {
		return ""
	}
	return strings.TrimSpace(cmp.Or(l.heard(), l.allSpoken()))
}

// Heartbeat implements [intercept.Answer]: a comment that ends in one newline, or
// a chunk that repeats the stream's own id, without choices or with an empty delta
// of one that has not ended. A whole answer is kept alive by blanks before the
// JSON.
func (a *answer) Heartbeat(pulse intercept.Pulse) []byte {
	switch {
	case a.upstream.Form() == intercept.FormWhole:
		return []byte("\n")
	case a.upstream.Form() != intercept.FormStream:
		return nil
	case pulse == intercept.PulseEvent && a.head.id != "":
		return sse.AppendData(nil, "", []byte(a.head.chunk("[]")))
	case pulse == intercept.PulseDelta && a.head.id != "":
		open := slices.IndexFunc(a.lanes, func(l *lane) bool { return !l.finish })
		if open >= 0 {
			return sse.AppendData(nil, "", []byte(a.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":null}]`, a.lanes[open].index))))
		}
	}
	return []byte(": keepalive\n")
}

// Fail implements [intercept.Answer]. A whole answer whose head has gone out is
// failed by an error for its body.
func (a *answer) Fail(e *intercept.Error) []byte {
	if a.upstream.Kind() == intercept.FormWhole {
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
	c := &choice{index: index}
	if err := a.assign(c); err != nil {
		return nil, err
	}
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
		call.Doubt("The answer gives its calls twice, and the two differ.")
	}
	return all
}

// said is what the model said in the choice.
func (c *choice) said() *utterance {
	if d := &c.says[inDelta]; d.any() {
		return d
	}
	return &c.says[inMessage]
}

const chunkObject = "chat.completion.chunk"

// chunk renders a synthetic chunk with the head of the real ones.
func (h *head) chunk(choices string) string {
	var b strings.Builder
	for _, f := range []struct{ name, raw string }{{"id", h.id}, {"object", `"` + chunkObject + `"`}, {"created", h.created}, {"model", h.model}, {"system_fingerprint", h.fingerprint}} {
		if f.raw != "" {
			b.WriteString("{,"[min(b.Len(), 1):][:1] + `"` + f.name + `":` + f.raw)
		}
	}
	return b.String() + `,"choices":` + choices + "}"
}

// readable is the head without the values that some clients do not read.
func (h head) readable() head {
	for _, raw := range []*string{&h.id, &h.model, &h.fingerprint} {
		if gjson.Parse(*raw).Type != gjson.String {
			*raw = ""
		}
	}
	if !digits(h.created) {
		h.created = ""
	}
	return h
}
