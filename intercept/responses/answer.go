package responses

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// answer implements [intercept.Codec].
type answer struct {
	req    *request
	limits intercept.Limits
	sends  intercept.Envelope // the request that upstream answers
	whole  bool               // the answer is one JSON value, not a stream

	body  body        // the current body of upstream
	batch eventBatch  // the part of it that was read last
	prior priorTurns  // the bodies before it
	next  *following  // another body follows it
	out   agentStream // the answer as the agent gets it
}

// following is the state with which the next body begins.
type following struct {
	prior   priorTurns
	request intercept.Envelope
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	if r.operation == opCreate && !limits.Offers {
		limits.Offered = nil
	}
	return &answer{
		req: r, limits: limits, sends: r.Envelope(), body: body{req: r},
		out: agentStream{after: r.after, alias: r.memory.alias},
	}
}

// Begin implements [intercept.Codec].
func (a *answer) Begin() intercept.Traits {
	if a.next != nil {
		a.prior, a.sends, a.next = a.next.prior, a.next.request, nil
		a.out.proceed()
	}
	a.body = body{req: a.req, strayIDs: a.body.strayIDs}
	return intercept.Traits{Numbered: true, Texts: longTexts}
}

// Close implements [intercept.Codec]. A stream of which parts are held has to be complete.
func (a *answer) Close(framed, held bool) (contents intercept.Contents, err error) {
	b := &a.body
	ended := a.whole || b.closed || b.failed
	needsEnd := held || len(b.calls()) > 0 || (!b.doneMark && (!framed || a.out.continued))
	switch {
	case !ended && needsEnd:
		return contents, intercept.Cut()
	case a.out.continued && b.object == nil && !b.failed:
		return contents, intercept.EmptyContinuation()
	}
	a.recall()
	if b.stored() || b.resumable() {
		contents.Kept = b.responseID()
	}
	contents.Calls, contents.Text = a.units(), a.text
	return contents, nil
}

// recall applies the rulings on an earlier request for the same response.
func (a *answer) recall() {
	memory := &a.req.memory
	for _, it := range a.body.calls() {
		if r, ok := memory.rulings[it.fingerprint()]; ok {
			it.Rule(r)
			it.recalled = true
		}
	}
	if a.req.operation == opCancel && len(memory.chain) > 1 {
		a.out.rename(a.req.id)
	}
}

// units lists the calls of the body.
func (a *answer) units() (list []*intercept.Unit) {
	for _, it := range a.body.calls() {
		list = append(list, &it.Unit)
	}
	return list
}

// text is the text of the answer for the user.
func (a *answer) text() string { return a.prior.text + a.body.text() }

// Heartbeat implements [intercept.Codec]: the event by which OpenAI keeps a stream
// alive. Where the agent can ask for the events from a number on, it would change their
// numbers. It may not read the request, whose results can be decided meanwhile.
func (a *answer) Heartbeat(intercept.Heartbeat) []intercept.Event {
	if a.body.resumable() {
		return nil
	}
	return a.out.keepalive()
}

// Disposed implements [intercept.Codec].
func (a *answer) Disposed(p *intercept.Part, d intercept.Disposition) {
	if d == intercept.Sent {
		a.out.sent(a.batch.events, p.Units())
	}
}

// void notes that the answer fails in a part.
func (a *answer) void(p *intercept.Part) {
	dropped := a.body.void()
	for _, e := range a.batch.events {
		dropped = dropped || (e.response != nil && a.body.showsCalls(e.response))
	}
	a.out.leaveOut(dropped, p.Held())
}

// unchanged reports whether a body without calls goes out as upstream sent it.
func (a *answer) unchanged() bool {
	void := func(it *item) bool { return it.Void }
	return a.out.verbatim() && !slices.ContainsFunc(a.body.items, void) && offered(a.limits.Offered).ownTools(a.body.object) == ""
}

// Notice implements [intercept.Codec].
func (a *answer) Notice(p *intercept.Plan) []intercept.Event {
	return a.out.closingNotice(closingText{a.limits.TurnID, p.Notice})
}

// Fail implements [intercept.Codec]: an error event and, where a response has begun, the
// event that it has failed.
func (a *answer) Fail(e *intercept.Error, whole bool) []intercept.Event {
	if whole {
		return []intercept.Event{{Data: string(errorBody(e))}}
	}
	message, code := strictjson.Quote("heldcall: "+e.Reason), strictjson.Quote(string(e.Code))
	failed := `"code":` + code + `,"message":` + message
	out := a.out.appendEvent(nil, "error", failed+`,"param":null,"error":`+e.OpenAI())
	if a.out.head.id == "" {
		return out
	}
	return a.out.appendEvent(out, "response.failed", `"response":`+a.failure(failed))
}

// failure is the failed response, with the items that the agent has. Released calls may
// not have reached it.
func (a *answer) failure(reason string) string {
	items := append([]string(nil), a.prior.output...)
	for _, it := range a.body.items {
		switch {
		case it.Left():
			items = append(items, it.call.rendered)
		case it.agentIndex >= 0 && it.done && it.call == nil:
			items = append(items, it.entry.raw)
		}
	}
	created := a.out.head.created
	if !gjson.Valid(created) || created == "" {
		created = "0"
	}
	return fmt.Sprintf(`{"id":%s,"object":"response","created_at":%s,"status":"failed","background":false,"error":{%s},"incomplete_details":null,"instructions":null,"max_output_tokens":null,`+
		`"model":%s,"output":%s,"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled","usage":null,"metadata":{}}`,
		a.out.head.id, created, reason, strictjson.Quote(a.req.Text("model")), list(items))
}
