package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

// answer implements [intercept.Answer].
type answer struct {
	req    *request
	limits intercept.Limits
	sends  intercept.Envelope // the request that upstream is answering

	turn // what is known of the current upstream body
	past // what outlives it

	upstream intercept.Body
	kept     intercept.Kept[[]*item] // with the item of each payload, nil for none
	heard    int                     // bytes that are remembered
	shapes   shapes
	out      intercept.Gather
}

// turn is the state of one upstream body.
type turn struct {
	items   []*item // in the order they opened
	ending  []*item // in the order of the list at the end
	strange bool    // one of them is of a type that nobody knows yet
	manner  manner  // of its events
	latest  *item   // of the last event that names an item, nil for an item that did not begin
	opened  *item   // a call that may pass by its name, of which only the beginning came
	begun   bool    // a response began
	object  *object // the response as its last event shows it
	closed  bool    // it said that it is at its end
	done    bool    // [DONE] was there
	failed  bool    // it reported an error
}

// past is what outlives a continuation.
type past struct {
	head          head // of the first response
	continuations int
	denials       int                  // those of them after a denial
	rounds        []round              // the turns before
	stored        int                  // bytes of them that are remembered
	chain         []string             // upstream's ids of the responses so far
	output        []string             // items of earlier turns that the agent has
	text          string               // what the agent has read
	spent         []byte               // usage so far
	seats         int                  // output items that the agent has
	next          int64                // the sequence number of the next event
	numbered      bool                 // events have sequence numbers
	recounted     bool                 // events went out, or did not, that upstream has not numbered so
	moved         bool                 // output items are numbered anew
	unended       string               // what the last event that went out lacks of its end
	strays        map[string]bool      // ids of items in events about no item, or about an item with another id
	ruled         []ruled              // the calls that were judged
	made          map[string]hostedRun // the calls that the provider ran, by the question that was approved
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, sends: r.Envelope()}
}

// Begin implements [intercept.Answer].
func (a *answer) Begin(string) {
	a.turn, a.kept, a.shapes, a.heard = turn{}, intercept.Kept[[]*item]{}, shapes{}, 0
	a.upstream.Begin(a.limits.MaxBytes)
}

// Write implements [intercept.Answer].
func (a *answer) Write(p []byte) ([]byte, error) {
	return a.upstream.Feed(p, &a.out, a.part)
}

// End implements [intercept.Answer].
func (a *answer) End(framed bool) (out []byte, err error) {
	out, err = a.upstream.Close(framed, a.readWhole, a.endStream)
	if err == nil && a.continuations > 0 && a.object == nil && !a.failed {
		err = intercept.NotUnderstood("after a denial it says nothing")
	}
	if err == nil {
		a.recall()
	}
	return out, err
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
func (a *answer) Complete() bool { return a.closed || a.done }

// Holding implements [intercept.Answer].
func (a *answer) Holding() bool { return a.upstream.Form() == intercept.FormWhole || a.holding() }

// Calls implements [intercept.Answer].
func (a *answer) Calls() (list []intercept.Call) {
	for _, it := range a.pending() {
		it.judge()
		list = append(list, it.asCall())
	}
	return list
}

// Passed implements [intercept.Answer].
func (a *answer) Passed() (list []intercept.Call) {
	for _, it := range a.items {
		if it.call != nil && it.call.passed {
			list = append(list, it.asCall())
		}
	}
	return list
}

// calls lists the items that the agent would run.
func (a *answer) calls() (list []*item) {
	for _, it := range a.items {
		if it.call != nil && !it.void {
			list = append(list, it)
		}
	}
	return list
}

// pending lists the calls that need a ruling, in the order of the answer.
func (a *answer) pending() (list []*item) {
	for _, it := range a.calls() {
		if !it.call.passed && it.call.known == nil {
			list = append(list, it)
		}
	}
	return list
}

// Text implements [intercept.Answer].
func (a *answer) Text() string { return strings.TrimSpace(a.text + a.said()) }

// said is what the messages of the turn say to the user.
func (a *answer) said() string {
	var b strings.Builder
	for _, it := range a.items {
		b.WriteString(it.entry.message())
	}
	return b.String()
}

// Heartbeat implements [intercept.Answer]: the event by which OpenAI itself keeps
// a stream alive, once it has begun and where its events are numbered; a comment
// that ends in one newline before that, and where the agent can come back for
// the events from a number on. A whole answer is kept alive by blanks before the
// JSON.
func (a *answer) Heartbeat(pulse intercept.Pulse) []byte {
	switch {
	case a.upstream.Kind() == intercept.FormWhole:
		return []byte("\n")
	case a.upstream.Kind() != intercept.FormStream:
		return nil
	case pulse == intercept.PulseComment || !a.numbered || a.next == 0 || a.resumable():
		return []byte(": keepalive\n")
	}
	number := a.count()
	a.recounted = true
	return sse.AppendData(nil, "keepalive", []byte(`{"type":"keepalive","sequence_number":`+number+`}`))
}

// resumable reports whether the agent may ask for the events of the answer again,
// so that their numbers have to be those that upstream would give them.
func (a *answer) resumable() bool {
	return a.req.id != "" || a.req.background() || a.object != nil && a.object.background
}

// retrievable reports whether the agent may ask for the answer again.
func (a *answer) retrievable() bool { return a.resumable() || a.keeps() }

// keeps reports whether upstream keeps the answer. What the request asks for
// counts more than what servers put into every answer.
func (a *answer) keeps() bool {
	return a.object != nil && a.object.stored && !a.req.unstored()
}

// Fail implements [intercept.Answer]: an error and, where a response has begun,
// that it has failed. A whole answer whose head has gone out is failed by an
// error for its body.
func (a *answer) Fail(e *intercept.Error) []byte {
	if a.upstream.Kind() == intercept.FormWhole {
		return errorBody(e)
	}
	message, code := intercept.Quote("heldcall: "+e.Reason), intercept.Quote(string(e.Code))
	failed := `"code":` + code + `,"message":` + message
	out := a.render([]byte(a.unended), "error", failed+`,"param":null,"error":`+errorObject(e))
	if a.head.id == "" {
		return out
	}
	return a.render(out, "response.failed", `"response":`+a.failure(failed))
}
