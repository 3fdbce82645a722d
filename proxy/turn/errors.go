package turn

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// unanswered ends the turn whose request upstream did not answer. A request of which
// nothing was sent has consumed nothing.
func (t *Turn) unanswered(sent bool, refusal *intercept.Error) State {
	if !sent {
		t.conversation.restoreConsumed(t.ctx)
	}
	if t.ctx.Err() != nil {
		return t.gone()
	}
	return t.fail(refusal)
}

// upstreamError passes upstream's own error on, without the key that it may quote, unless
// the agent has begun to read a good answer.
func (t *Turn) upstreamError(status int) State {
	if status >= 400 && status < 500 {
		t.conversation.restoreConsumed(t.ctx)
	}
	if t.agent.Started() {
		return t.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream refused to continue the answer after a denial (status " + statusText(status) + ")"})
	}
	if redirects(status) {
		return t.fail(&intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream sends the agent to another address, where nothing would be held; if it is the right one, name it in proxy.upstreams"})
	}
	r := t.exchange.response
	body, err := r.ReadAll(t.engine.Limits.MaxBody)
	switch {
	case err != nil:
		return t.fail(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
	case !identityEncoded(r.ContentEncoding()) || !t.request.Dialect.Harmless(body):
		return t.fail(intercept.NotUnderstood("it is an error (status %d) that could hold a call", status))
	case quotesHidden(body, t.exchange.next.Body, t.request.Envelope.Body):
		return t.fail(withoutQuotation(status, body))
	}
	t.outcome = outcomeUpstreamError
	t.agent.ResetHead()
	r.CopyHead(t.agent.Head())
	t.agent.Finish(t.exchange.upstream.Redact(body))
	return Ended
}

// redirects reports the statuses that clients follow to another address.
func redirects(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// statusText is the text of a status.
func statusText(status int) string {
	return cmp.Or(http.StatusText(status), "Unknown Status Code")
}

// fail ends the turn with an error that the agent can read: a status if the answer has
// not started, an event in a stream.
func (t *Turn) fail(e *intercept.Error) State {
	t.engine.metrics.failedClosed.WithLabelValues(string(e.Code)).Inc()
	t.engine.log.Warn("answer refused", "turn", t.request.Turn, "session", t.conversation.id.Session, "code", e.Code, "error", e)
	t.spans.Failed(e)
	t.outcome = outcomeFailed
	if !t.agent.Started() {
		t.agent.Refuse(e.Status(), t.request.Dialect.Error(e))
		return Ended
	}
	last := t.answer.Fail(e)
	if r := t.exchange.response; !t.answer.Streamed() && (r == nil || !isEventStream(r.ContentType())) {
		last = t.request.Dialect.Error(e)
	}
	if !t.emit(last) {
		return t.gone()
	}
	return Ending
}

// gone ends the turn without an error for the agent, which has disconnected; or with one,
// if heldcall stops.
func (t *Turn) gone() State {
	if errors.Is(context.Cause(t.ctx), ErrShuttingDown) && t.broken == nil {
		return t.fail(errRestarting())
	}
	t.outcome = outcomeAgentGone
	t.broken = errDisconnected
	return Ended
}

// errRestarting is the error for an agent whose turn ends because heldcall stops.
func errRestarting() *intercept.Error {
	return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is restarting; retry the request"}
}

// asError returns the *intercept.Error that err wraps, else one with a code.
func asError(err error, code intercept.Code) *intercept.Error {
	var e *intercept.Error
	if errors.As(err, &e) {
		return e
	}
	return &intercept.Error{Code: code, Reason: "the answer could not be processed", Err: err}
}

// storeError is the error for an operation on durable state that failed.
func (c *conversation) storeError(err error) *intercept.Error {
	switch {
	case errors.Is(err, approvals.ErrRunAborted):
		return c.runAborted()
	case errors.Is(err, approvals.ErrTooLarge):
		return intercept.NotUnderstood("a call is too large to be recorded")
	}
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "can't record the request (storage unavailable); retry", Err: err}
}
