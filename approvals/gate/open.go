package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

const (
	// defaultTimeout is the deadline of a request that has none.
	defaultTimeout = 300 * time.Second
	// openWrites is the number of records that one Open writes at the same time.
	openWrites = 8
)

// opener opens holds: it records new requests and publishes them.
type opener struct {
	store       approvals.Store
	transitions *transitions
	runs        *runs
	now         func() time.Time
	ids         *approvals.IDSource
	schemas     toolschema.Cache
}

// open is [Gate.Open].
func (o *opener) open(ctx context.Context, requests []approvals.Request) (*Hold, error) {
	if len(requests) == 0 {
		return nil, errors.New("open a hold: no requests")
	}
	for i := range requests {
		if o.runs.aborted(&requests[i]) {
			return nil, fmt.Errorf("ask about run %s: %w", requests[i].RunID, approvals.ErrRunAborted)
		}
	}
	h := o.newHold(requests)
	pending := o.transitions.pending
	pending.expect(h)
	err := o.record(ctx, h.Requests())
	pending.recorded(h)
	if err != nil {
		o.rollBack(ctx, h)
		return nil, err
	}
	for _, r := range h.Requests() { // the run may have been aborted during the writes
		if o.runs.aborted(&r) {
			o.transitions.timers.add(&timer{kind: timerCancel, id: r.ID, at: o.now(), reason: approvals.CancelRunAborted})
		}
	}
	return h, nil
}

// newHold returns a hold for the completed requests.
func (o *opener) newHold(requests []approvals.Request) *Hold {
	now := o.now().UTC()
	h := &Hold{transitions: o.transitions, done: make(chan struct{}), left: len(requests)}
	h.requests = append(h.requests, requests...)
	for i := range h.requests {
		o.complete(&h.requests[i], now)
	}
	return h
}

// complete sets the fields of a new, pending request.
func (o *opener) complete(r *approvals.Request, now time.Time) {
	r.ID = o.ids.Next(now)
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
	normalizeDemands(r)
	r.Details.Remember = r.DefaultGrant()
	if r.Reviewers == nil {
		r.Reviewers = []string{}
	}
	if len(r.Arguments) == 0 {
		r.Arguments = []byte("null")
	}
	arguments := r.Arguments
	if r.Details.FreeText {
		arguments = nil // not an object that a schema describes
	}
	r.Details.Flags = slices.Concat(r.Details.Flags, o.schemas.Warnings(r.Tool.Parameters, arguments))
}

// record writes requests, then their events, then publishes the requests.
func (o *opener) record(ctx context.Context, requests []approvals.Request) error {
	err := eachRequest(ctx, requests, func(ctx context.Context, r approvals.Request) error {
		_, err := o.store.CreateRequest(ctx, r)
		return err
	})
	if err != nil {
		return approvals.Unavailable("record a request", err)
	}
	events := make([]approvals.Event, len(requests))
	for i := range requests {
		events[i] = approvals.RequiredEvent(&requests[i])
	}
	if err := o.store.AppendEvents(ctx, events...); err != nil {
		return approvals.Unavailable("record the event of a request", err)
	}
	if err := eachRequest(ctx, requests, o.store.PublishRequest); err != nil {
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

// rollBack cancels the requests of a hold that could not be opened. Requests that cannot
// be cancelled now are cancelled later.
func (o *opener) rollBack(ctx context.Context, h *Hold) {
	h.Detach()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	for _, r := range h.Requests() {
		err := o.transitions.cancel(ctx, r.ID, approvals.CancelNotRecorded)
		switch {
		case errors.Is(err, approvals.ErrUnknownRequest):
			o.transitions.pending.remove(r.ID)
		case errors.Is(err, approvals.ErrStoreUnavailable):
			o.transitions.timers.retry(timer{kind: timerCancel, id: r.ID, reason: approvals.CancelNotRecorded})
		}
	}
}
