package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

const (
	// defaultTimeout is the deadline of a request that has none.
	defaultTimeout = 300 * time.Second
	// publishTimeout is the time limit of a publication to bots: a hold does not wait for it.
	publishTimeout = 5 * time.Second
	// openWrites is the number of records that one Open writes at the same time.
	openWrites = 8
)

// opener opens holds: it records new requests and publishes them.
type opener struct {
	store       approvals.Store
	transitions *transitions
	runs        *runs.Runs
	now         func() time.Time
	ids         *approvals.IDSource
	schemas     toolschema.Cache
	turns       heldTurns
	results     bool // results are recorded
}

// open is [Gate.Open].
func (o *opener) open(ctx context.Context, requests []approvals.Request) (*Hold, error) {
	if len(requests) == 0 {
		return nil, errors.New("open a hold: no requests")
	}
	for i := range requests {
		if o.runs.Aborted(&requests[i]) {
			return nil, fmt.Errorf("ask about run %s: %w", requests[i].RunID, approvals.ErrRunAborted)
		}
	}
	h := &Hold{transitions: o.transitions, done: make(chan struct{}), recorded: make(chan struct{}), left: len(requests), requests: slices.Clone(requests)}
	o.prepare(h.requests)
	defer o.transitions.closing.begin(h.requests...)()
	o.transitions.pending.expect(h)
	created, err := o.record(ctx, h.Requests())
	close(h.recorded)
	if err != nil {
		o.rollBack(ctx, h, created)
		return nil, err
	}
	if err := eachRequest(ctx, created, o.publish); err != nil { // not an error: people can decide
		o.transitions.log.Warn("failed to publish a request; trying again", "turn", created[0].TurnID, "error", err)
		o.repairLater(created...)
	}
	for _, r := range h.Requests() { // the run may have been aborted during the writes
		if o.runs.Aborted(&r) {
			o.transitions.timers.add(&timer{kind: timerCancel, id: r.ID, at: o.now(), reason: approvals.CancelRunAborted})
		}
	}
	return h, nil
}

// prepare is [Gate.Prepare].
func (o *opener) prepare(requests []approvals.Request) {
	now := o.now().UTC()
	for i := range requests {
		if requests[i].ID == "" {
			o.complete(&requests[i], now)
		}
	}
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
	if !o.results {
		r.Context.DropResults()
	}
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
	if r.Details.FreeText || r.Asks() {
		arguments = nil // not an object that a schema describes, or questions, which are read strictly
	}
	r.Details.Flags = slices.Concat(r.Details.Flags, o.schemas.Warnings(r.Tool.Parameters, arguments))
}

// record writes the requests that are not in the store yet, then their events. It returns those requests, also after
// an error. For the others the holds get the stored state: their events and publications are repaired when the gate
// loads them.
func (o *opener) record(ctx context.Context, requests []approvals.Request) (created []approvals.Request, err error) {
	existed := make([]bool, len(requests))
	index := make(map[string]int, len(requests))
	for i := range requests {
		index[requests[i].ID] = i
	}
	err = eachRequest(ctx, requests, func(ctx context.Context, r approvals.Request) error {
		_, err := o.store.CreateRequest(ctx, r)
		if !errors.Is(err, approvals.ErrConflict) {
			return err
		}
		existed[index[r.ID]] = true
		stored, err := o.recorded(ctx, r.ID)
		if err == nil {
			o.transitions.changed(stored)
		}
		return err
	})
	for i := range requests {
		if !existed[i] {
			created = append(created, requests[i])
		}
	}
	if err != nil {
		return created, approvals.Unavailable("record a request", err)
	}
	if len(created) == 0 {
		return nil, nil
	}
	events := make([]approvals.Event, len(created))
	for i := range created {
		events[i] = created[i].RequiredEvent()
	}
	if err := o.store.AppendEvents(ctx, events...); err != nil {
		return created, approvals.Unavailable("record the event of a request", err)
	}
	return created, nil
}

// recorded reads a request that is in the store. A server of a cluster may not have what another has
// just written.
func (o *opener) recorded(ctx context.Context, id string) (approvals.Stored, error) {
	for attempt := 1; ; attempt++ {
		r, err := o.store.GetRequest(ctx, id)
		if !errors.Is(err, approvals.ErrUnknownRequest) {
			return r, err
		}
		if err := approvals.Pause(ctx, attempt); err != nil {
			return r, fmt.Errorf("read request %s, which another process records: %w", id, err)
		}
	}
}

// repairLater writes the missing parts of recorded requests, and publishes them.
func (o *opener) repairLater(requests ...approvals.Request) {
	for i := range requests {
		o.transitions.timers.retry(timer{kind: timerRepair, id: requests[i].ID})
	}
}

// publish publishes a request to bots.
func (o *opener) publish(ctx context.Context, r approvals.Request) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	o.turns.describe(&r)
	r.DescribePending()
	return o.store.PublishRequest(ctx, r)
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

// rollBack cancels the requests that were created for a hold that could not be opened.
// Requests that cannot be cancelled now are cancelled later. Those of a stored turn stay: the
// agent's next request opens them again.
func (o *opener) rollBack(ctx context.Context, h *Hold, created []approvals.Request) {
	h.Detach()
	if o.turns.stored(h.requests[0].TurnID) {
		o.repairLater(created...)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	for _, r := range created {
		err := o.transitions.cancel(ctx, r.ID, approvals.CancelNotRecorded)
		switch {
		case errors.As(err, new(*approvals.DecidedError)): // before its event was written
			o.repairLater(r)
		case errors.Is(err, approvals.ErrUnknownRequest):
			o.transitions.pending.remove(r.ID)
		case errors.Is(err, approvals.ErrStoreUnavailable):
			o.transitions.timers.retry(timer{kind: timerCancel, id: r.ID, reason: approvals.CancelNotRecorded})
		}
	}
}
