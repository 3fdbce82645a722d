package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// defaultTimeout is the deadline of a request that came without one.
	defaultTimeout = 300 * time.Second
	// openWrites bounds the records that one Open writes at the same time.
	openWrites = 8
)

// Open asks people the requests of one turn. It gives each its id, creation
// time and status pending, records them all, then their approval_required
// events, then publishes them; only then it returns. A request without
// expires_at expires 300 s from now.
//
// If anything cannot be recorded the error wraps [ErrStoreUnavailable] or
// [ErrTooLarge], and what was recorded already is cancelled. Requests of an
// aborted run are refused with [ErrRunAborted].
func (g *Gate) Open(ctx context.Context, requests []approvals.Request) (*Hold, error) {
	if len(requests) == 0 {
		return nil, errors.New("open a hold: no requests")
	}
	for i := range requests {
		if g.RunState(requests[i].RunID) == approvals.RunAborted {
			return nil, fmt.Errorf("ask about run %s: %w", requests[i].RunID, approvals.ErrRunAborted)
		}
	}
	h := g.newHold(requests)
	g.expect(h)
	err := g.announce(ctx, h.Requests())
	g.recorded(h)
	if err != nil {
		g.withdraw(ctx, h)
		return nil, err
	}
	for i := range requests { // the abort may have come while we were writing
		if g.RunState(requests[i].RunID) == approvals.RunAborted {
			g.due.add(&job{kind: jobAbortRun, id: requests[i].RunID, at: g.now()})
		}
	}
	return h, nil
}

// newHold completes the requests and ties them together.
func (g *Gate) newHold(requests []approvals.Request) *Hold {
	now := g.now().UTC()
	h := &Hold{gate: g, done: make(chan struct{}), left: len(requests)}
	h.requests = append(h.requests, requests...)
	for i := range h.requests {
		r := &h.requests[i]
		r.ID = g.ids.Next(now)
		r.Status = approvals.StatusPending
		r.CreatedAt = now
		r.ExpiresAt = r.ExpiresAt.UTC()
		if r.ExpiresAt.IsZero() {
			r.ExpiresAt = now.Add(defaultTimeout)
		}
		if r.OnTimeout == "" {
			r.OnTimeout = approvals.OnTimeoutDeny
		}
		r.Decisions = []approvals.Decision{}
		r.Details.EndedAt, r.Details.CancelReason = nil, ""
		if r.SuggestedPatterns == nil {
			r.SuggestedPatterns = []string{}
		}
		r.SettleDemands()
		r.Details.Remember = r.DefaultGrant()
		if r.Reviewers == nil {
			r.Reviewers = []string{}
		}
		if len(r.Arguments) == 0 {
			r.Arguments = []byte("null")
		}
		r.Details.Flags = slices.Concat(r.Details.Flags, g.schemaWarnings(r))
	}
	return h
}

// schemaWarnings compares the arguments with the tool's schema. Free text is no
// object that a schema describes.
func (g *Gate) schemaWarnings(r *approvals.Request) []string {
	if r.Details.FreeText {
		return g.schemas.Warnings(r.Tool.Parameters, nil)
	}
	return g.schemas.Warnings(r.Tool.Parameters, r.Arguments)
}

// expect enters the requests as pending before they are recorded: a decision
// may arrive between the record and the return of the write.
func (g *Gate) expect(h *Hold) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, r := range h.requests {
		g.track(r, h, i)
		g.pending[r.ID].recording = true
	}
}

// recorded notes that the requests of a hold are recorded, as far as they will be.
func (g *Gate) recorded(h *Hold) {
	requests := h.Requests()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range requests {
		if w := g.pending[r.ID]; w != nil {
			w.recording = false
		}
	}
}

// track keeps the times of a pending request. The caller holds g.mu.
func (g *Gate) track(r approvals.Request, h *Hold, index int) {
	deadline := &job{kind: jobExpire, id: r.ID, at: r.ExpiresAt}
	w := &waiter{createdAt: r.CreatedAt, expiresAt: r.ExpiresAt, deadline: deadline, hold: h, index: index}
	g.pending[r.ID] = w
	g.due.add(deadline)
	for _, at := range r.EscalationTimes() {
		later := &job{kind: jobEscalate, id: r.ID, at: at}
		w.escalate = append(w.escalate, later)
		g.due.add(later)
	}
}

// announce records, then tells: requests, their events, their publication.
func (g *Gate) announce(ctx context.Context, requests []approvals.Request) error {
	err := eachRequest(ctx, requests, func(ctx context.Context, r approvals.Request) error {
		_, err := g.store.CreateRequest(ctx, r)
		return err
	})
	if err != nil {
		return approvals.Unavailable("record a request", err)
	}
	events := make([]approvals.Event, len(requests))
	for i := range requests {
		events[i] = approvals.RequiredEvent(&requests[i])
	}
	if err := g.store.AppendEvents(ctx, events...); err != nil {
		return approvals.Unavailable("record the event of a request", err)
	}
	if err := eachRequest(ctx, requests, g.store.PublishRequest); err != nil {
		return approvals.Unavailable("publish a request", err)
	}
	return nil
}

// eachRequest does one write for each request, a few at a time.
func eachRequest(ctx context.Context, requests []approvals.Request, write func(context.Context, approvals.Request) error) error {
	if len(requests) == 1 {
		return write(ctx, requests[0])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openWrites)
	for _, r := range requests {
		group.Go(func() error { return write(ctx, r) })
	}
	return group.Wait()
}

// withdraw takes back a hold that could not be opened. What the store refuses
// to cancel now is cancelled when it is back.
func (g *Gate) withdraw(ctx context.Context, h *Hold) {
	h.Detach()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	for _, r := range h.Requests() {
		_, err := g.cancel(ctx, r.ID, approvals.CancelNotRecorded)
		switch {
		case errors.Is(err, approvals.ErrUnknownRequest):
			g.forget(r.ID)
		case errors.Is(err, approvals.ErrStoreUnavailable):
			g.due.add(&job{kind: jobCancel, id: r.ID, reason: approvals.CancelNotRecorded, at: g.now().Add(retryDelay)})
		}
	}
}
