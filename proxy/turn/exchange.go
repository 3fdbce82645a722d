package turn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/leakcheck"
	"github.com/heldcall/heldcall/proxy/mediatype"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/trace"
)

// exchange is the current HTTP exchange with the upstream: a request and its answer. One
// turn has several, one after another.
type exchange struct {
	upstream Upstream

	next     intercept.Envelope // the request to send
	count    int                // requests so far
	sent     time.Time          // when the last of them was sent
	pending  chan reply         // to a request that is under way beside the turn, else nil
	cancel   context.CancelFunc // of that request
	response Response           // whose body is being read, else nil

	unread   bool // nothing of the body was read, and the answer does not know of it
	draining bool // the body is complete; it has drainFor to end

	kept *packed.Answers // nil: answers are not kept
}

// reply is how an upstream request ended.
type reply struct {
	response Response
	sent     bool
	err      *intercept.Error
}

// drainFor is how long an upstream may take to end a body that is complete, before the
// connection is closed.
const drainFor = time.Second

// send sends the request. A first request is waited for here: its agent must not time
// out only while a continuation is on its way, which is sent beside the turn.
func (x *exchange) send(ctx context.Context, c trace.Context) (r reply, done bool) {
	x.count++
	x.sent = time.Now()
	if x.count == 1 {
		r.response, r.sent, r.err = x.upstream.Send(ctx, x.next, c)
		return r, true
	}
	ctx, x.cancel = context.WithCancel(ctx)
	pending, next := make(chan reply, 1), x.next
	x.pending = pending
	go func() {
		var r reply
		r.response, r.sent, r.err = x.upstream.Send(ctx, next, c)
		pending <- r
	}()
	return reply{}, false
}

// answered takes over the answer of a request.
func (x *exchange) answered(r Response) {
	x.response, x.unread, x.draining = r, true, false
}

// end closes the response after the whole body.
func (x *exchange) end() {
	if x.response != nil {
		x.response.Close()
		x.response = nil
	}
}

// close ends the exchange wherever it is.
func (x *exchange) close() {
	x.end()
	if x.pending != nil {
		x.cancel()
		if r := <-x.pending; r.response != nil {
			r.response.Close()
		}
		x.pending = nil
	}
	if x.cancel != nil {
		x.cancel()
		x.cancel = nil
	}
}

// trace begins the span of an upstream request of the conversation.
func (x *exchange) trace(spans *trace.Spans, c *conversation.Conversation, e intercept.Envelope) trace.Context {
	if spans == nil {
		return trace.Context{}
	}
	info := c.Info()
	return spans.UpstreamRequest(trace.UpstreamRequest{
		Envelope: e, Addr: x.upstream.Addr(), Route: c.Request.Route, Continuation: x.count,
		Dialect: c.Request.Dialect.Name(), Model: info.Model, Session: c.Identity().Session, Streamed: info.Streamed,
	})
}

// heartbeats reports whether the agent needs heartbeats while the body is read.
func (x *exchange) heartbeats(started, holding bool) bool {
	waits := x.count > 1 || (started && holding)
	return waits && !x.draining
}

// sendBefore sends the requests that have to come before. One whose subject upstream does
// not know any more needs none.
func (t *Turn) sendBefore() State {
	for _, e := range t.conversation.Parsed.Before() {
		r, sent, refusal := t.exchange.upstream.Send(t.ctx, e, t.exchange.trace(t.spans, &t.conversation, e))
		if refusal != nil {
			return t.unanswered(sent, refusal)
		}
		status := r.Status()
		t.spans.UpstreamHead(status)
		_, err := r.ReadAll(t.engine.Limits.MaxBody)
		r.Close()
		t.spans.UpstreamEnded("")
		if done := success(status) || status == http.StatusNotFound; err != nil || !done {
			return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: fmt.Sprintf("the upstream did not do the same to all parts in which it keeps the answer (status %d); try again", status), Err: err})
		}
	}
	return Sending
}

func success(status int) bool { return status >= 200 && status <= 299 }

// send sends the upstream request.
func (t *Turn) send() State {
	x := &t.exchange
	// The count is that of the requests before, and so the number of the continuation.
	if r, done := x.send(t.ctx, x.trace(t.spans, &t.conversation, x.next)); done {
		return t.answered(r)
	}
	return Awaiting
}

// await waits one keep-alive period, or less: until the head of a continuation arrives.
func await(t *Turn) State {
	tick := time.NewTimer(t.engine.Limits.Keepalive)
	defer tick.Stop()
	select {
	case r := <-t.exchange.pending:
		t.exchange.pending = nil
		return t.answered(r)
	case <-tick.C:
		return t.heartbeat()
	}
}

// answered reads the head of an upstream's answer.
func (t *Turn) answered(r reply) State {
	if r.err != nil {
		return t.unanswered(r.sent, r.err)
	}
	t.exchange.answered(r.response)
	t.engine.metrics.firstByte.WithLabelValues(t.request.Route).Observe(time.Since(t.exchange.sent).Seconds())
	status := r.response.Status()
	t.spans.UpstreamHead(status)
	if !success(status) {
		return t.upstreamError(status)
	}
	t.conversation.Hidden.KeepConsumed() // the upstream has accepted the request
	switch {
	case status == http.StatusPartialContent:
		return t.output.fail(intercept.NotUnderstood("upstream sent 206 Partial Content"))
	case !mediatype.IdentityEncoded(r.response.ContentEncoding()):
		return t.output.fail(intercept.NotUnderstood("it is compressed, although identity was asked for"))
	case !mediatype.ASCIICompatible(r.response.ContentType()):
		return t.output.fail(intercept.NotUnderstood("its character set is not UTF-8"))
	}
	if t.exchange.count == 1 {
		r.response.CopyHead(t.output.agent.Head())
		if t.exchange.kept != nil {
			r.response.CopyHead(&t.exchange.kept.Head)
		}
	}
	return Reading
}

// unanswered ends the turn whose request upstream did not answer. A request of which
// nothing was sent has consumed nothing.
func (t *Turn) unanswered(sent bool, refusal *intercept.Error) State {
	if !sent {
		t.conversation.Hidden.RestoreConsumed(t.ctx)
	}
	if t.ctx.Err() != nil {
		return t.output.gone()
	}
	return t.output.fail(refusal)
}

// upstreamError passes upstream's own error on, without the key that it may quote, unless
// the agent has begun to read a good answer.
func (t *Turn) upstreamError(status int) State {
	if status >= 400 && status < 500 {
		t.conversation.Hidden.RestoreConsumed(t.ctx)
	}
	if t.output.agent.Started() {
		return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream refused to continue the answer after a denial (status " + cmp.Or(http.StatusText(status), "Unknown Status Code") + ")"})
	}
	if redirects(status) {
		return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream sends the agent to another address, where nothing would be held; if it is the right one, name it in proxy.upstreams"})
	}
	r := t.exchange.response
	body, err := r.ReadAll(t.engine.Limits.MaxBody)
	switch {
	case err != nil:
		return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
	case !mediatype.IdentityEncoded(r.ContentEncoding()) || !t.request.Dialect.SafeError(body):
		return t.output.fail(intercept.NotUnderstood("it is an error (status %d) that could hold a call", status))
	case leakcheck.Quotes(body, t.exchange.next.Body, t.request.Envelope.Body):
		return t.output.fail(leakcheck.WithoutQuotation(status, body))
	}
	return t.output.passError(body)
}

// read reads one block of the answer.
func (t *Turn) read() State {
	x := &t.exchange
	body := x.response
	if !t.output.agent.Started() && !body.Buffered() && mediatype.IsEventStream(body.ContentType()) {
		t.output.agent.Start() // the agent need not wait for the first event to see the head
		return Reading
	}
	beats := x.heartbeats(t.output.agent.Started(), t.output.answer.Holding())
	if beats {
		body.SetReadDeadline(time.Now().Add(t.engine.Limits.Keepalive))
	}
	p, err := body.Next()
	if beats && errors.Is(err, os.ErrDeadlineExceeded) {
		return t.heartbeat()
	}
	if x.unread { // until now a heartbeat had to suit the body before it
		t.output.answer.Begin(string(body.ContentType()))
		x.unread = false
		x.kept.Begin(body.ContentType())
		t.spans.UpstreamBody()
	}
	if err != nil {
		return t.endOfBody(err)
	}
	x.kept.Add(p)
	if failed, state := t.output.pass(t.output.answer.Write(p)); failed {
		return state
	}
	if t.output.answer.Streamed() && !t.output.agent.Started() {
		t.output.agent.Start()
	}
	if t.output.answer.Complete() && t.output.answer.Holding() && !x.draining {
		x.draining = true
		body.SetReadDeadline(time.Now().Add(drainFor))
	}
	return Reading
}

// endOfBody ends the answer of this exchange.
func (t *Turn) endOfBody(err error) State {
	body, complete := t.exchange.response, t.output.answer.Complete()
	if !errors.Is(err, io.EOF) && !complete {
		if t.ctx.Err() != nil {
			return t.output.gone()
		}
		return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void", Err: err})
	}
	framed := body.Framed() || complete
	t.exchange.kept.End(framed)
	if failed, state := t.output.pass(t.output.answer.End(framed)); failed {
		return state
	}
	t.exchange.end()
	t.spans.UpstreamEnded("")
	return Judging
}

// hasKey reports whether a call contains the upstream's key. Each event of the answer has
// lost it, so the call has it in pieces, which no person, log or agent may read as a whole.
func (x *exchange) hasKey(c intercept.Call) bool {
	text := []byte(c.Name + "\n" + c.Arguments)
	return !bytes.Equal(x.upstream.Redact(text), text)
}
