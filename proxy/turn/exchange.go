package turn

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/exchange"
)

// sendBefore sends the requests that have to come before. One whose subject upstream does
// not know any more needs none.
func (t *Turn) sendBefore() State {
	for _, e := range t.conversation.Parsed.Before() {
		r, sent, refusal := t.exchange.Upstream.Send(t.ctx, e, t.exchange.Trace(t.spans, &t.conversation, e))
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
	if r, done := x.Send(t.ctx, x.Trace(t.spans, &t.conversation, x.Next), t.output.agent.Started()); done {
		return t.answered(r)
	}
	return Awaiting
}

// await waits until the head of a continuation arrives, or a heartbeat is due.
func (t *Turn) await() State {
	select {
	case r := <-t.exchange.Pending:
		t.exchange.Pending = nil
		return t.answered(r)
	case <-t.output.due():
		return t.heartbeat()
	}
}

// answered reads the head of an upstream's answer.
func (t *Turn) answered(r exchange.Reply) State {
	if r.Err != nil {
		return t.unanswered(r.Sent, r.Err)
	}
	t.exchange.Answered(r.Response)
	t.engine.metrics.firstByte.WithLabelValues(t.request.Route).Observe(time.Since(t.exchange.Sent).Seconds())
	status := r.Response.Status()
	t.spans.UpstreamHead(status)
	if !success(status) {
		return t.upstreamError(status)
	}
	t.conversation.Hidden.KeepConsumed() // the upstream has accepted the request
	switch {
	case status == http.StatusPartialContent:
		return t.output.fail(intercept.NotUnderstood("upstream sent 206 Partial Content"))
	case !exchange.IdentityEncoded(r.Response.ContentEncoding()):
		return t.output.fail(intercept.NotUnderstood("it is compressed in a way that is not known (%.64q), although identity was asked for", r.Response.ContentEncoding()))
	case !exchange.ASCIICompatible(r.Response.ContentType()):
		return t.output.fail(intercept.NotUnderstood("its character set is not UTF-8"))
	}
	if t.exchange.Count == 1 && !t.output.agent.Started() { // else people were asked about results
		r.Response.CopyHead(t.output.agent.Head())
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
	if closing := t.conversation.Parsed.Closing(t.output.answer.Streamed()); closing != nil && t.exchange.Count > 1 && status < 500 && status >= 400 {
		return t.closeThread(closing)
	}
	if t.output.agent.Started() {
		refused := &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream refused to continue the answer after a denial"}
		t.exchange.Response.SetReadDeadline(t.output.heartbeatAt()) // without the message, if it is not there by then
		if t.exchange.Count == 1 {
			refused.Reason, refused.HTTP = "the upstream refused the request", status
		}
		t.exchange.Explain(refused, t.engine.Limits.MaxBody, t.request.Envelope.Body)
		return t.output.fail(refused)
	}
	if exchange.Redirects(status) {
		return t.output.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream sends the agent to another address, where nothing would be held; if it is the right one, name it in proxy.upstreams"})
	}
	r := t.exchange.Response
	body, err := r.ReadAll(t.engine.Limits.MaxBody)
	switch {
	case err != nil:
		return t.output.fail(intercept.AsError(err, intercept.CodeUpstreamCut, "the upstream's error was cut off or is too large"))
	case !t.exchange.Readable(body) || !t.request.Dialect.SafeError(body):
		return t.output.fail(intercept.NotUnderstood("it is an error (status %d) that could hold a call", status))
	case t.exchange.Quotes(body, t.request.Envelope.Body):
		return t.output.fail(exchange.WithoutQuotation(status, body))
	}
	return t.output.passError(body)
}

// closeThread ends an answer with a closing text because upstream does not continue the conversation: it
// keeps a thread for less time than people may need. The agent's next request is refused, so that it
// sends the whole conversation: to refuse this one would ask people again about the same calls.
func (t *Turn) closeThread(closing []byte) State {
	t.exchange.Kept.Begin()
	t.exchange.Kept.Add(closing)
	t.exchange.Unread = false
	t.output.answer.Begin()
	failed, state := t.output.pass(t.output.answer.Write(closing))
	if !failed {
		t.exchange.Kept.End(true)
		failed, state = t.output.pass(t.output.answer.End(true))
	}
	if failed {
		return state
	}
	t.exchange.End()
	t.spans.UpstreamEnded("")
	return Judging
}

// read reads one block of the answer, or sends the heartbeat that is due before it.
func (t *Turn) read() State {
	x := &t.exchange
	body := x.Response
	if !t.output.agent.Started() && !body.Buffered() && exchange.IsEventStream(body.ContentType()) {
		t.output.start() // the agent need not wait for the first event to see the head
		return Reading
	}
	x.Within(t.output.heartbeatAt())
	p, err := body.Next()
	if errors.Is(err, os.ErrDeadlineExceeded) && !x.Drained() {
		return t.heartbeat()
	}
	if x.Unread { // until now a heartbeat had to suit the body before it
		t.output.answer.Begin()
		x.Unread = false
		x.Kept.Begin()
		t.spans.UpstreamBody()
	}
	if err != nil {
		return t.endOfBody(err)
	}
	x.Kept.Add(p)
	out, refused := t.output.answer.Write(p)
	if refused == nil {
		refused = t.output.keep(len(p) - len(out))
	}
	if failed, state := t.output.pass(out, refused); failed {
		return state
	}
	if t.output.answer.Streamed() && !t.output.agent.Started() {
		t.output.start()
	}
	if t.output.answer.Complete() && t.output.answer.Holding() {
		x.Drain()
	}
	if t.output.answer.Ripe() {
		return Releasing
	}
	return Reading
}

// endOfBody ends the answer of this exchange.
func (t *Turn) endOfBody(err error) State {
	body, complete := t.exchange.Response, t.output.answer.Complete()
	if !errors.Is(err, io.EOF) && !complete {
		if t.ctx.Err() != nil {
			return t.output.gone()
		}
		return t.output.fail(intercept.AsError(err, intercept.CodeUpstreamCut, "the upstream's answer was cut off before its end; what was held of it is void"))
	}
	framed := body.Framed() || complete
	t.exchange.Kept.End(framed)
	if failed, state := t.output.pass(t.output.answer.End(framed)); failed {
		return state
	}
	if x := &t.exchange; x.Count == 1 && x.Kept != nil && t.output.answer.Pending() {
		x.Response.CopyHead(&x.Kept.Head)
	}
	t.exchange.End()
	t.spans.UpstreamEnded("")
	return Judging
}
