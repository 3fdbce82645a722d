package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// answer implements [intercept.Codec].
type answer struct {
	req    *history.Request
	limits intercept.Limits
	sends  intercept.Envelope // the request that upstream is answering
	whole  bool               // the answer is one JSON value, no stream

	bodyState   // what is known of the current upstream body
	answerState // what outlives it
	batch       eventBatch
}

// bodyState is the state of one upstream body.
type bodyState struct {
	items   []*item      // in the order they opened
	ending  []*item      // in the order of the list at the end
	strange bool         // one of them is of a type that nobody knows yet
	manner  manner       // of its events
	latest  *item        // of the last event that names an item, nil for an item that did not begin
	begun   bool         // a response began
	object  *wire.Object // the response as its last event shows it
	closed  bool         // it said that it is at its end
	done    bool         // [DONE] was there
	failed  bool         // it reported an error
}

// answerState is what outlives a continuation.
type answerState struct {
	head          wire.Head // of the first response
	continuations int
	denials       int                          // those of them after a denial
	rounds        []history.Round              // the turns before
	chain         []string                     // upstream's ids of the responses so far
	output        []string                     // items of earlier turns that the agent has
	text          string                       // what the agent has read
	priorUsage    []byte                       // of the bodies before
	seats         int                          // output items that the agent has
	next          int64                        // the sequence number of the next event
	repeated      int64                        // the one before the last event of a known form
	numbered      bool                         // events have sequence numbers
	recounted     bool                         // events went out, or did not, that upstream has not numbered so
	moved         bool                         // output items have new numbers
	noticed       bool                         // the closing notice has gone out
	strays        map[string]bool              // ids of items in events about no item, or about an item with another id
	ruled         []history.Ruled              // the calls that were judged
	made          map[string]history.HostedRun // the calls that the provider ran, by the question that was approved
}

func newAnswer(r *history.Request, limits intercept.Limits) *answer {
	return &answer{req: r, limits: limits, sends: r.Envelope()}
}

// Traits implements [intercept.Codec].
func (*answer) Traits() intercept.Traits { return intercept.Traits{Delays: true} }

// Begin implements [intercept.Codec].
func (a *answer) Begin() { a.bodyState = bodyState{} }

// Close implements [intercept.Codec]. What is held needs an end.
func (a *answer) Close(framed, held bool) error {
	ended := a.whole || a.closed || a.failed
	switch {
	case !ended && (held || len(a.calls()) > 0 || (!a.done && (!framed || a.continuations > 0))):
		return intercept.Cut()
	case a.continuations > 0 && a.object == nil && !a.failed:
		return intercept.EmptyContinuation()
	}
	a.recall()
	return nil
}

// Calls implements [intercept.Codec].
func (a *answer) Calls() (list []*intercept.Unit) {
	for _, it := range a.calls() {
		list = append(list, &it.Unit)
	}
	return list
}

// calls lists the items that the agent would run.
func (a *answer) calls() (list []*item) {
	for _, it := range a.items {
		if it.call != nil && !it.Void {
			list = append(list, it)
		}
	}
	return list
}

// Text implements [intercept.Codec].
func (a *answer) Text() string { return a.text + a.said() }

// said is what the messages of the turn say to the user.
func (a *answer) said() string {
	var b strings.Builder
	for _, it := range a.items {
		b.WriteString(it.entry.Message())
	}
	return b.String()
}

// Heartbeat implements [intercept.Codec]: the event by which OpenAI itself keeps
// a stream alive, once it has begun and where its events are numbered, but not
// where the agent can come back for the events from a number on.
func (a *answer) Heartbeat(form intercept.Form, pulse intercept.Heartbeat) []byte {
	plain := form == intercept.FormWhole || pulse == intercept.HeartbeatComment
	if plain || !a.numbered || a.next == 0 || a.resumable() {
		return nil
	}
	number := a.count()
	a.recounted = true
	return sse.AppendData(nil, "keepalive", []byte(`{"type":"keepalive","sequence_number":`+number+`}`))
}

// resumable reports whether the agent may ask for the events of the answer again,
// so that their numbers have to be those that upstream would give them.
func (a *answer) resumable() bool {
	return a.req.ID != "" || a.req.Background() || (a.object != nil && a.object.Background)
}

// retrievable reports whether the agent may ask for the answer again.
func (a *answer) retrievable() bool { return a.resumable() || a.keeps() }

// keeps reports whether upstream keeps the answer. What the request asks for
// counts more than what servers put into every answer.
func (a *answer) keeps() bool {
	return a.object != nil && a.object.Stored && !a.req.Unstored()
}

// Fail implements [intercept.Codec]: an error and, where a response has begun,
// that it has failed.
func (a *answer) Fail(dst []byte, e *intercept.Error, whole bool) []byte {
	if whole {
		return errorBody(e)
	}
	message, code := strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(string(e.Code))
	failed := `"code":` + code + `,"message":` + message
	out := a.render(dst, "error", failed+`,"param":null,"error":`+errorObject(e))
	if a.head.ID == "" {
		return out
	}
	return a.render(out, "response.failed", `"response":`+a.failure(failed))
}
