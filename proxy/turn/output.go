package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/exchange"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Outcomes of a turn, for metrics and spans.
const (
	outcomePassed        = "passed"
	outcomeHeld          = "held"
	outcomeChanged       = "changed"
	outcomeAborted       = "aborted"
	outcomeParked        = "parked"
	outcomeFailed        = "failed"
	outcomeUpstreamError = "upstream_error"
	outcomeAgentGone     = "agent_gone"
	outcomeInterrupted   = "interrupted"
)

// output writes the answer to the agent, and has the outcome of the turn.
type output struct {
	engine       *Engine
	ctx          context.Context // of the turn
	conversation *conversation.Conversation
	exchange     *exchange.Exchange
	stored       *stored
	spans        *trace.Spans

	agent     Agent
	answer    *intercept.Answer
	heartbeat time.Time // when it is due; zero before the first wait
	kept      kept
	rendered  bool // the next bytes are rendered: an event would change the numbers of theirs
	outcome   string
	broken    error // the connection must end without a proper end of the answer
}

// begin begins the answer.
func (o *output) begin() {
	limits := &o.engine.Limits
	o.answer = intercept.NewAnswer(o.conversation.Parsed, intercept.Limits{
		MaxBytes: limits.MaxBody, MaxCalls: maxRequestBytes, MaxContinuations: limits.MaxContinuations, TurnID: o.conversation.Request.Turn,
		Offered: o.conversation.Offered.InAnswer, Offers: o.conversation.Offered.Adds(),
		Quotes: func() func(failure []byte) bool {
			return o.exchange.QuotationCheck(o.conversation.Request.Envelope.Body)
		},
	})
}

// blocked reports whether the answer has started and cannot be written now.
func (o *output) blocked() bool { return o.agent.Started() && !o.agent.Writable() }

// record sets the outcome, if it is not "".
func (o *output) record(outcome string) {
	if outcome != "" {
		o.outcome = outcome
	}
}

// emit sends the agent bytes, in which upstream does not quote its key: those of a [Response]
// are without it. It reports false when the agent has disconnected.
func (o *output) emit(p []byte) bool {
	if len(p) > 0 && o.stored.lost() {
		o.broken = errTakenOver
		return false
	}
	return o.write(p)
}

// write sends the agent bytes of a turn that is not lost.
func (o *output) write(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if err := o.agent.Write(p); err != nil {
		o.broken = errDisconnected
		return false
	}
	o.sent()
	return true
}

// start sends the head before there are bytes of the body.
func (o *output) start() {
	o.agent.Start()
	o.sent()
}

// sent restarts the clock of all heartbeats: the agent has got a byte.
func (o *output) sent() { o.heartbeat = time.Now().Add(o.engine.Limits.untilHeartbeat()) }

// heartbeatAt is when a heartbeat is due: one period after the last byte to the agent, in
// every state. Before the first byte the clock starts with the first wait.
func (o *output) heartbeatAt() time.Time {
	if o.heartbeat.IsZero() {
		o.sent()
	}
	return o.heartbeat
}

// due waits until a heartbeat is due.
func (o *output) due() <-chan time.Time { return time.After(time.Until(o.heartbeatAt())) }

// beat sends a heartbeat, after the answer's head if it is the first. It reports false when
// the agent has disconnected.
func (o *output) beat() bool { return o.emit(o.pulse()) }

// pulse returns a heartbeat, and restarts the clock. It is empty while the form of the answer is
// open: the agent may still get a status, or upstream's head says which form it has.
func (o *output) pulse() []byte {
	o.sent()
	r, body := o.conversation.Request, o.exchange.Response
	if r.Silent {
		return nil
	}
	if body != nil && o.agent.Started() {
		o.answer.Await(exchange.IsEventStream(body.ContentType()))
	}
	if o.rendered {
		return o.answer.Heartbeat(intercept.HeartbeatComment)
	}
	return o.answer.Heartbeat(r.Pulse)
}

// beatUntil sends the heartbeats that are due until done is closed, the agent has disconnected, or
// another connection has taken the turn over.
func (o *output) beatUntil(done, taken <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-taken:
			return
		case <-o.due():
		}
		select {
		case <-taken: // at the same moment
			return
		default:
		}
		if !o.write(o.pulse()) {
			return
		}
	}
}

// pass sends the bytes that may pass. If the agent has disconnected or the rest of
// the answer is refused, it reports the state in which the turn continues.
func (o *output) pass(out []byte, refused error) (failed bool, next State) {
	if !o.emit(out) {
		return true, o.gone()
	}
	if refused != nil {
		return true, o.fail(intercept.NotProcessed(refused))
	}
	return false, Reading
}

// finish sends the agent the last bytes. A whole answer that has not started gets its
// length.
func (o *output) finish(last []byte) State {
	if o.outcome == "" {
		o.outcome = outcomePassed
	}
	last = o.exchange.Upstream.Redact(last)
	if !o.agent.Started() {
		o.agent.Finish(last)
		return Ended
	}
	if o.agent.Write(last) != nil {
		o.broken = errDisconnected
		return o.gone()
	}
	return Ending
}

// passError sends upstream's own error, without the key that it may quote.
func (o *output) passError(body []byte) State {
	o.outcome, o.stored.again = outcomeUpstreamError, true
	o.agent.ResetHead()
	o.exchange.Response.CopyHead(o.agent.Head())
	o.agent.Finish(o.exchange.Upstream.Redact(body))
	return Ended
}

// fail ends the turn with an error that the agent can read: a status if the answer has
// not started, an event in a stream. A whole answer that has started has status 200, and
// clients do not repeat it: after an error that may pass, its connection breaks.
func (o *output) fail(e *intercept.Error) State {
	c := o.conversation
	o.engine.metrics.failedClosed.WithLabelValues(string(e.Code)).Inc()
	o.engine.Log.Warn("answer refused", "turn", c.Request.Turn, "session", c.KnownSession(), "code", e.Code, "error", c.Redact(e.Error()))
	o.spans.Failed(e)
	o.outcome = outcomeFailed
	o.stored.again = o.stored.again || e.Repeatable()
	if !o.agent.Started() {
		o.agent.Refuse(e.Status(), o.exchange.Upstream.Redact(c.Request.Dialect.Error(e)))
		return Ended
	}
	last := o.answer.Fail(e)
	if r := o.exchange.Response; !o.answer.Streamed() && (r == nil || !exchange.IsEventStream(r.ContentType())) {
		if e.Repeatable() {
			o.broken = e
			return Ended
		}
		last = c.Request.Dialect.Error(e)
	}
	if !o.emit(o.exchange.Upstream.Redact(last)) {
		return o.gone()
	}
	return Ending
}

// storeFailed ends the turn because an operation on durable state failed.
func (o *output) storeFailed(operation string, err error) State {
	o.engine.metrics.storeError(operation)
	return o.fail(o.conversation.StoreError(err))
}

// gone ends the turn of an agent that has disconnected, or because heldcall stops.
func (o *output) gone() State {
	if errors.Is(context.Cause(o.ctx), ErrShuttingDown) && o.broken == nil {
		return o.shutDown()
	}
	o.outcome = outcomeAgentGone
	o.broken = cmp.Or(o.broken, errDisconnected)
	return Ended
}

// shutDown ends the turn because heldcall stops: with status 503 if the answer has not
// started, else with a broken connection, which no client takes for the end of the answer.
func (o *output) shutDown() State {
	if !o.agent.Started() {
		return o.fail(errRestarting())
	}
	o.engine.Log.Info("answer interrupted: heldcall stops", "turn", o.conversation.Request.Turn, "session", o.conversation.KnownSession())
	o.spans.Failed(errRestarting())
	o.outcome = outcomeInterrupted
	o.broken = ErrShuttingDown
	return Ended
}
