package gate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/heldcall/heldcall/approvals"
)

// Hold is the wait for the requests of one turn. It costs no goroutine.
type Hold struct {
	transitions *transitions
	done        chan struct{}
	recorded    chan struct{} // closed when its requests and their events are recorded, or could not be

	mu       sync.Mutex
	requests []approvals.Request
	left     int // requests that are not final
	detached bool
	err      error
}

// Done is closed when every request of the hold is final, or when [Hold.Err] has an
// error. It is never closed after [Hold.Detach].
func (h *Hold) Done() <-chan struct{} { return h.done }

// Err returns an error if the hold ended without an answer: the store could not be reached for so long after a deadline
// that the end of the request is unknown. The error wraps [approvals.ErrStoreUnavailable]. Release nothing then.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Requests returns the current state of the requests, in the order of [Gate.Open].
func (h *Hold) Requests() []approvals.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Cancel cancels the requests that are pending, with a details.cancel_reason, but those for which
// another hold of this process waits. Requests that were decided meanwhile keep their decision. If the store cannot be reached, Cancel
// returns an error, and the gate tries again.
func (h *Hold) Cancel(ctx context.Context, reason string) error {
	var failed error
	for _, r := range h.Requests() {
		if !r.Status.Final() && !h.transitions.pending.waited(r.ID, h) {
			failed = errors.Join(failed, h.transitions.cancelOrRetry(ctx, r.ID, reason))
		}
	}
	return failed
}

// Detach stops waiting and leaves the requests pending, to be decided later or
// by another replica. It may be called more than once and after the end.
func (h *Hold) Detach() {
	h.transitions.pending.detach(h)
	h.mu.Lock()
	h.detached = true
	h.mu.Unlock()
}

// update stores the state of a request. The hold ends with its last request.
func (h *Hold) update(index int, r approvals.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests[index].Status.Final() || h.detached || !hasChanged(&r) {
		return
	}
	h.requests[index] = r
	if !r.Status.Final() {
		return
	}
	if h.left--; h.left == 0 && h.err == nil {
		close(h.done)
	}
}

// hasChanged reports whether a request differs from the opened one. A hold does not store
// copies without changes: there may be many holds.
func hasChanged(r *approvals.Request) bool {
	return r.Status.Final() || len(r.Decisions) > 0 || !r.EscalatedAt().IsZero()
}

// fail ends the hold without an answer.
func (h *Hold) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil && h.left > 0 && !h.detached {
		h.err = err
		close(h.done)
	}
}
