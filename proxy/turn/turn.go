// Package turn answers one agent request, and knows no HTTP and no sockets: it lets the model
// answer, holds the calls that policy does not decide, and releases, rewrites or denies them. The
// agent and the upstream are interfaces (ports.go), so that a turn can lose one agent and be
// continued for another.
//
// Read it from turn.go (a turn and how it begins and ends) by states.go (its steps as one
// table with a diagram) to its collaborators, each with its own fields: package
// conversation (session, run, hidden turns, earlier denials), packages results and hosted
// (what the request contains is judged; screening.go waits for people), exchange.go and
// package exchange (requests to the upstream and their answers), review.go (calls become
// requests to people, decisions become rulings; hold.go and record.go are about it, release.go
// about calls that leave before the end of the answer; park.go
// ends a wait in time, see package parking). snapshot.go and replay.go have the whole state of a turn as a
// value; stored.go keeps it while people decide, and rejoin.go continues it for an agent
// that repeats the request.
package turn

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/exchange"
	"github.com/heldcall/heldcall/proxy/hosted"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/results"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Turn is one answer to an agent, with all upstream requests that it takes. All of it is
// for one goroutine.
type Turn struct {
	engine  *Engine
	request *Request
	ctx     context.Context // ends when the agent disconnects, or when heldcall stops
	spans   *trace.Spans

	conversation conversation.Conversation
	hosted       hosted.Tools
	exchange     exchange.Exchange
	results      results.Results
	screening    *gate.Hold // about results; nil when no people are asked about any
	review       review
	output       output
	stored       stored

	leaveRun func(approvals.Outcome) // reports to the gate that the turn has ended; nil: see enterRun

	state  State
	closed bool
	made   int // bytes reserved for a request that heldcall has made of the agent's
}

// New makes the turn of a request; [Turn.Prepare] begins it, and [Engine.Begin] is both. ctx ends with the cause
// [ErrShuttingDown] when heldcall stops, and when the agent disconnects. Spans may be nil.
func (e *Engine) New(ctx context.Context, r *Request, agent Agent, up Upstream, spans *trace.Spans) *Turn {
	t := &Turn{engine: e, request: r, ctx: ctx, spans: spans}
	c := &t.conversation
	c.Init(&e.Conversations, r)
	t.stored.turn = t
	t.hosted = hosted.Tools{Engine: e, Offers: &e.Offers, Conversation: c}
	t.exchange = exchange.Exchange{Upstream: up}
	if e.Keeper != nil {
		t.exchange.Kept = packed.NewAnswers(agent.Reserve)
	}
	t.results = results.Results{Conversation: c, Recorder: e, Log: e.Log, MaxWait: e.Limits.MaxWait}
	t.review = review{engine: e, conversation: c, spans: spans}
	t.output = output{engine: e, ctx: ctx, conversation: c, exchange: &t.exchange, stored: &t.stored, spans: spans, agent: agent}
	return t
}

// Prepare begins the turn. The error refuses the request before the upstream was asked;
// the turn is closed then.
func (t *Turn) Prepare() *intercept.Error {
	if refusal := t.prepare(); refusal != nil {
		t.Close()
		return refusal
	}
	t.enterRun(false)
	t.engine.metrics.overhead.Observe(time.Since(t.request.Began).Seconds())
	return nil
}

// prepare reads the agent's request, finds its conversation, and makes the request for
// the upstream.
func (t *Turn) prepare() (refusal *intercept.Error) {
	if t.engine.draining.Err() != nil {
		return errRestarting()
	}
	c := &t.conversation
	if refusal := c.Begin(t.ctx); refusal != nil {
		return refusal
	}
	if t.spans != nil {
		who := c.Identity()
		t.spans.Identified(who.Session, who.Run, who.Principal)
	}
	c.Results.Read()
	if refusal := t.results.Judge(t.ctx, t.review.rules()); refusal != nil {
		return refusal
	}
	if refusal := c.Hidden.Splice(t.ctx); refusal != nil {
		return refusal
	}
	t.engine.Offers.Count(t.request, c.Parsed, t.engine.Log)
	if refusal := t.hosted.Judge(t.ctx, c.Parsed); refusal != nil {
		return refusal
	}
	remade, refusal := c.Hidden.Consume(t.ctx)
	if refusal == nil && remade {
		refusal = t.hosted.Judge(t.ctx, c.Parsed)
	}
	if refusal != nil {
		return refusal
	}
	if t.state = AskingResults; len(t.results.Requests()) == 0 {
		t.state = Preparing
		refusal = t.results.Settle(t.ctx)
		if refusal == nil {
			refusal = t.next(c.Parsed.Envelope())
		}
	}
	t.output.begin()
	return refusal
}

// Run takes steps until the turn ends, or until a started answer has to be writable.
// After the end the turn is closed. After an error the answer is incomplete, and must not
// end properly.
func (t *Turn) Run() (ended bool, err error) {
	for t.state != Ended {
		if t.output.blocked() {
			return false, nil
		}
		t.state = states[t.state].step(t)
	}
	t.Close()
	return true, t.output.broken
}

// Outcome is how the turn ended, "" if it was refused.
func (t *Turn) Outcome() string { return t.output.outcome }

// Disconnected ends the turn of an agent that disconnected while the turn did not run.
func (t *Turn) Disconnected() {
	t.state = t.disconnected()
	t.Close()
}

// Panicked ends the turn after a panic.
func (t *Turn) Panicked(fault any) {
	t.engine.Log.Error("panic while serving a request", "turn", t.request.Turn, "panic", fault, "stack", string(debug.Stack()))
	t.output.record(outcomeFailed)
	t.Close()
}

// Close releases the resources of the turn, and counts how it ended. [Turn.Run] does so at the
// end; it may be called more than once.
func (t *Turn) Close() {
	if t.closed {
		return
	}
	t.closed, t.state = true, Ended
	if t.output.agent.Started() { // else the agent will probably send the request again
		t.conversation.Results.Record(nil)
	}
	t.exchange.Close()
	if t.screening != nil {
		t.screening.Detach()
	}
	t.results.Release(t.ctx)
	t.review.release(t.ctx, t.stored.attachment != nil)
	if !t.stored.continues() {
		t.conversation.Results.NotReleased(t.notReleasedBecause(), t.review.unsettled...)
	}
	t.stored.release()
	if t.leaveRun != nil {
		t.leaveRun(t.review.outcome)
	}
	if outcome := t.output.outcome; outcome != "" {
		t.engine.metrics.turns.WithLabelValues(t.request.Route, outcome).Inc()
	}
}

// notReleasedBecause returns why approved calls of a turn that has ended are not released.
func (t *Turn) notReleasedBecause() string {
	switch {
	case t.engine.stops() || errors.Is(context.Cause(t.ctx), ErrShuttingDown):
		return approvals.NotReleasedStopped
	case t.output.outcome == outcomeAgentGone:
		return approvals.NotReleasedDisconnected
	case t.review.otherCancelled:
		return approvals.NotReleasedOtherFailed
	}
	return approvals.NotReleasedAnswerFailed
}

// enterRun reports to the gate that the agent is active in its run, until the turn is closed.
// The gate follows a run that has had a call.
func (t *Turn) enterRun(calls bool) {
	c := &t.conversation
	if t.leaveRun != nil || c.Deletes() {
		return
	}
	t.leaveRun = t.engine.Gate.EnterRun(calls, func() runs.Entry {
		who := c.Identity()
		return runs.Entry{Run: approvals.Run{ID: who.Run, Principal: who.Principal, SessionID: who.Session}, Continues: !c.Parsed.Begins()}
	})
}

// heartbeat sends a heartbeat and continues in the same state.
func (t *Turn) heartbeat() State {
	if t.output.beat() {
		return t.state
	}
	return t.disconnected()
}

// disconnected ends the turn of an agent that has disconnected. The requests of a stored
// turn stay with the reviewers, as at shutdown; others are cancelled.
func (t *Turn) disconnected() State {
	switch {
	case t.review.hold == nil:
	case t.stored.current(), errors.Is(context.Cause(t.ctx), ErrShuttingDown):
		t.review.leavePending()
	default:
		t.review.cancel(t.ctx, approvals.CancelAgentGone)
	}
	return t.output.gone()
}
