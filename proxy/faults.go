package proxy

import (
	"context"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// prelude makes the requests that have to come before. What upstream does not know
// any more needs none.
func (x *exchange) prelude() state {
	for _, e := range x.req.Before() {
		u := x.route.Upstream
		r, err := u.Do(x.ctx, u.AppendRequestHead(nil, &x.fasthttp.Request.Header, e, true, x.spans.asks(x, e)), e.Body)
		if err != nil {
			return x.unanswered(err)
		}
		status := r.Head.StatusCode()
		x.spans.headCame(status)
		_, err = r.Body.ReadAll(x.p.options.MaxBody)
		r.Close()
		x.spans.upstreamEnded("")
		if err != nil || (status < 200 || status > 299) && status != fasthttp.StatusNotFound {
			return x.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: fmt.Sprintf("the upstream did not do the same to all parts in which it keeps the answer (status %d); try again", status), Err: err})
		}
	}
	return (*exchange).send
}

// unanswered ends the exchange whose request upstream did not answer.
func (x *exchange) unanswered(err error) state {
	if errors.Is(err, upstream.ErrNotSent) {
		x.giveBack()
	}
	if x.ctx.Err() != nil {
		return x.gone()
	}
	return x.fail(noAnswer(err))
}

// noAnswer is the error for a request that upstream did not answer, or with a head that
// cannot be read.
func noAnswer(err error) *intercept.Error {
	if fault := upstream.MalformedHead(err); fault != nil {
		return intercept.NotUnderstood("its head is malformed: %v", fault)
	}
	return &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream did not answer; check proxy.upstreams and the network", Err: err}
}

// upstreamError passes upstream's own error on, but for the key that it may quote,
// unless the agent has begun to read a good answer.
func (x *exchange) upstreamError(status int) state {
	if status >= 400 && status < 500 {
		x.giveBack()
	}
	if x.begun {
		return x.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream refused to continue the answer after a denial (status " + fasthttp.StatusMessage(status) + ")"})
	}
	if redirects(status) {
		return x.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream sends the agent to another address, where nothing would be held; if it is the right one, name it in proxy.upstreams"})
	}
	body, err := x.up.Body.ReadAll(x.p.options.MaxBody)
	switch {
	case err != nil:
		return x.fail(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
	case !plain(x.up.Head.ContentEncoding()) || !x.route.Dialect.Harmless(body):
		return x.fail(intercept.NotUnderstood("it is an error (status %d) that could hold a call", status))
	case x.quotesHidden(body):
		return x.fail(withoutQuotation(status, body))
	}
	x.outcome = "upstream_error"
	clearResponse(&x.fasthttp.Response)
	x.route.Upstream.CopyResponseHead(&x.fasthttp.Response.Header, x.up.Head, true)
	x.fasthttp.Response.SetBodyRaw(x.route.Upstream.Redactor.Redact(body))
	return nil
}

// redirects reports the statuses that clients follow to another address.
func redirects(status int) bool {
	return status >= 300 && status < 400 && status != fasthttp.StatusNotModified
}

// fail ends the exchange with an error that the agent can read: a status where
// nothing has gone out, an event in a stream that has begun.
func (x *exchange) fail(e *intercept.Error) state {
	x.p.metrics.failedClosed.WithLabelValues(string(e.Code)).Inc()
	x.p.log.Warn("answer refused", "turn", x.turn, "session", x.who.session, "code", e.Code, "error", e)
	x.spans.failed(e)
	x.outcome = "failed"
	if !x.begun && x.w == nil {
		clearResponse(&x.fasthttp.Response)
		x.p.answerError(x.fasthttp, x.route.Dialect, e)
		return nil
	}
	last := x.answer.Fail(e)
	if !x.answer.Streamed() && (x.up == nil || !isEventStream(x.up.Head.ContentType())) {
		last = x.route.Dialect.Error(e)
	}
	if !x.emit(last) {
		return x.gone()
	}
	return (*exchange).end
}

// gone ends the exchange without a word: nobody reads it, or heldcall stops.
func (x *exchange) gone() state {
	cause := context.Cause(x.ctx)
	if errors.Is(cause, errShuttingDown) && x.broken == nil {
		return x.shutDown()
	}
	x.outcome = "agent_gone"
	x.broken = agentconn.ErrDisconnected
	return nil
}

func (x *exchange) shutDown() state {
	return x.fail(x.why(errShuttingDown))
}

// why is the error for the agent behind an end that was not asked for.
func (x *exchange) why(err error) *intercept.Error {
	if errors.Is(err, errShuttingDown) {
		return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is restarting; retry the request"}
	}
	return &intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the answer ended early", Err: err}
}

func asError(err error, code intercept.Code) *intercept.Error {
	var e *intercept.Error
	if errors.As(err, &e) {
		return e
	}
	return &intercept.Error{Code: code, Reason: "the answer could not be processed", Err: err}
}

// storeError is the error behind an operation on durable state that failed.
func (x *exchange) storeError(err error) *intercept.Error {
	if errors.Is(err, approvals.ErrRunAborted) {
		return x.runAborted()
	}
	if errors.Is(err, approvals.ErrTooLarge) {
		return intercept.NotUnderstood("a call is too large to be recorded")
	}
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "can't record the request (storage unavailable); retry", Err: err}
}
