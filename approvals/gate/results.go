package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// awaitResultFor is how long a released call waits for its result.
	awaitResultFor = 24 * time.Hour
	// maxAwaited is how many released calls wait for their results; beyond it the first
	// ones are forgotten.
	maxAwaited = 20_000
	// maxResultWrites is how many writes of results wait for the store; further results are
	// not recorded.
	maxResultWrites = 16_384
	// resultWriters is how many results are written at the same time.
	resultWriters = 4
	// flushTime is how long the writes that are left may take when heldcall stops.
	flushTime = 2 * time.Second
)

// Results records what became of approved calls: that they were released or not (unsettled.go), and, unless that is
// turned off, what they returned, as the agent reports it to the model, and the model's next words. It is information: no answer waits for it, and what cannot be recorded is lost. The requests in the store
// have its state, so each replica knows the released calls of all, also after a restart.
// It is safe for concurrent use. A nil *Results records nothing.
type Results struct {
	store     approvals.Store
	log       *slog.Logger
	now       func() time.Time
	repair    func(request string) // writes the events that are missing
	writes    chan *approvals.RequestResult
	results   bool // also of what follows the release
	unsettled unsettled

	waiting atomic.Int64 // len(calls)
	mu      sync.Mutex
	calls   map[releasedCall]awaitedResult
	inside  map[conversation]int // calls of a conversation
	writing map[string]int       // number of results that are being written, by request
	order   []releasedCall       // as they were released; some have their results
	full    bool                 // the last write was dropped
}

// conversation is a session of a principal: another one cannot report results for it.
type conversation struct {
	principal approvals.Principal
	session   string
}

type releasedCall struct {
	conversation
	id string // of the call on the wire
}

type awaitedResult struct {
	request  string
	released time.Time
}

// newResults returns results that know no released call yet: see [Results.changed]. repair writes
// the events of a request that are missing. With results false, only releases are recorded.
func newResults(store approvals.Store, log *slog.Logger, now func() time.Time, results bool, repair func(request string)) *Results {
	return &Results{
		store: store, log: log, now: now, repair: repair, results: results, unsettled: unsettled{open: map[string]approval{}},
		writes: make(chan *approvals.RequestResult, maxResultWrites),
		calls:  map[releasedCall]awaitedResult{}, inside: map[conversation]int{}, writing: map[string]int{},
	}
}

// Released records that the agent gets the calls of approved requests now. A request whose
// call has another id on the wire has that in details.result.
func (x *Results) Released(requests ...*approvals.Request) {
	if x == nil {
		return
	}
	now := x.now().UTC()
	for _, r := range requests {
		if x.results {
			x.await(r, now)
		}
		result := approvals.CallResult{ReleasedAt: now}
		if r.Details.Result != nil {
			result.ToolCallID = r.Details.Result.ToolCallID
		}
		x.enqueue(&approvals.RequestResult{Request: r.ID, Result: result})
	}
}

// Any reports whether any released call waits for its result.
func (x *Results) Any() bool { return x != nil && x.waiting.Load() > 0 }

// AnyIn reports whether a released call of a session waits for its result.
func (x *Results) AnyIn(principal approvals.Principal, session string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.inside[conversation{principal, session}] > 0
}

// Awaited returns the released call that waits for its result: the latest with this id in
// the session.
func (x *Results) Awaited(principal approvals.Principal, session, call string) (released approvals.RequestResult, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	waits, ok := x.calls[releasedCall{conversation{principal, session}, call}]
	return approvals.RequestResult{Request: waits.request, Result: approvals.CallResult{ReleasedAt: waits.released}}, ok
}

// Record records the result that an agent has reported of a released call. The first one
// counts.
func (x *Results) Record(result approvals.RequestResult) { x.enqueue(&result) }

// enqueue lets a writer write a result, unless too many wait.
func (x *Results) enqueue(result *approvals.RequestResult) {
	dropped := false
	select {
	case x.writes <- result:
	default:
		dropped = true
	}
	x.mu.Lock()
	first := dropped && !x.full
	x.full = dropped
	x.mu.Unlock()
	if first {
		x.log.Warn("results of calls are not recorded, because the store is too slow", "request", result.Request)
	}
}

// changed applies a state of a request that the store reports.
func (x *Results) changed(r *approvals.Request) {
	if x == nil {
		return
	}
	x.unsettled.changed(r)
	if r.Details.Result == nil || !x.results {
		return
	}
	if r.Details.Result.ReceivedAt == nil {
		x.await(r, r.Details.Result.ReleasedAt)
	} else {
		x.forget(r)
	}
}

// awaits returns a function that reports whether it is awaited what becomes of the approved call of a request, nil if it
// is not.
func (x *Results) awaits(r *approvals.Request) (waiting func() bool) {
	switch {
	case x == nil:
		return nil
	case r.Unsettled():
		return func() bool { return x.unsettled.has(r.ID) }
	case !x.results || r.Details.Result == nil || r.Details.Result.ReceivedAt != nil:
		return nil
	}
	call, id := callOf(r), r.ID
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		waits := x.calls[call]
		return waits.request == id && x.now().Sub(waits.released) < awaitResultFor
	}
}

// isWriting reports whether a result of a request, or its event, is being written.
func (x *Results) isWriting(request string) bool {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.writing[request] > 0
}

// count adds to the number of results of a request that are being written.
func (x *Results) count(request string, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.writing[request] += n; x.writing[request] == 0 {
		delete(x.writing, request)
	}
}

// await adds a released call that waits for its result.
func (x *Results) await(r *approvals.Request, released time.Time) {
	call, now := callOf(r), x.now()
	if call.id == "" || now.Sub(released) >= awaitResultFor {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	earlier, exists := x.calls[call]
	if exists && !released.After(earlier.released) { // the watch reports what this process knows
		return
	}
	x.removeLocked(call)
	x.calls[call] = awaitedResult{r.ID, released}
	x.inside[call.conversation]++
	x.order = append(x.order, call)
	for len(x.order) > maxAwaited || now.Sub(x.calls[x.order[0]].released) >= awaitResultFor {
		x.removeLocked(x.order[0])
		x.order = x.order[1:]
	}
	x.waiting.Store(int64(len(x.calls)))
}

// forget removes a call whose result is recorded.
func (x *Results) forget(r *approvals.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if call := callOf(r); x.calls[call].request == r.ID {
		x.removeLocked(call)
		x.waiting.Store(int64(len(x.calls)))
	}
}

func (x *Results) removeLocked(call releasedCall) {
	if _, exists := x.calls[call]; !exists {
		return
	}
	delete(x.calls, call)
	if x.inside[call.conversation]--; x.inside[call.conversation] == 0 {
		delete(x.inside, call.conversation)
	}
}

func callOf(r *approvals.Request) releasedCall {
	id := r.ToolCallID
	if result := r.Details.Result; result != nil {
		id = cmp.Or(result.ToolCallID, id)
	}
	return releasedCall{conversation{r.Principal, r.SessionID}, id}
}

// run writes results until the context ends, and then those that are left.
func (x *Results) run(ctx context.Context) error {
	if x == nil {
		return nil
	}
	var writers errgroup.Group
	for range resultWriters {
		writers.Go(func() error {
			for {
				select {
				case result := <-x.writes:
					x.write(context.WithoutCancel(ctx), result, approvals.WriteTimeout)
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	_ = writers.Wait() // they return no errors
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	for {
		select {
		case result := <-x.writes:
			x.write(ctx, result, flushTime)
		default:
			return nil
		}
	}
}

// write records a result in its request, then its event.
func (x *Results) write(ctx context.Context, result *approvals.RequestResult, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x.count(result.Request, 1)
	defer x.count(result.Request, -1)
	if err := x.update(ctx, result); err != nil {
		x.log.Warn("failed to record the result of a call", "request", result.Request, "error", err)
	}
}

func (x *Results) update(ctx context.Context, result *approvals.RequestResult) error {
	for attempt := 0; ; attempt++ {
		s, err := x.store.GetRequest(ctx, result.Request)
		if err != nil {
			return err
		}
		r := s.Request
		if changed, err := x.add(ctx, &r, result); err != nil || !changed {
			return err
		}
		_, err = x.store.UpdateRequest(ctx, r, s.Revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		x.changed(&r)
		if err := x.store.AppendEvents(ctx, s.Request.EventsUntil(&r)...); err != nil {
			x.repair(r.ID)
			return fmt.Errorf("append the event, which is tried again: %w", err)
		}
		return nil
	}
}

// add adds what became of a call to its request, unless the request has it already. A release counts more than a
// report that there was none: an agent may come back for its answer.
func (x *Results) add(ctx context.Context, r *approvals.Request, c *approvals.RequestResult) (changed bool, err error) {
	if r.Status != approvals.StatusApproved {
		return false, nil
	}
	if c.NotReleased != "" {
		return x.addNotReleased(ctx, r, c.NotReleased)
	}
	if r.Unsettled() || r.NotRun() != "" {
		released := c.Result.ReleasedAt
		r.Outcome = &approvals.ApprovalOutcome{State: approvals.ApprovalReleased, At: &released}
		changed = true
	}
	recorded := r.Details.Result
	if !x.results || (recorded != nil && (recorded.ReceivedAt != nil || c.Result.ReceivedAt == nil)) {
		return changed, nil
	}
	result := c.Result
	if recorded != nil {
		result.ReleasedAt, result.ToolCallID = recorded.ReleasedAt, recorded.ToolCallID
	}
	r.Details.Result = &result
	return true, nil
}
