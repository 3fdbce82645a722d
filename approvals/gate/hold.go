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
	gate *Gate
	done chan struct{}

	mu       sync.Mutex
	requests []approvals.Request
	left     int // requests that are not final
	detached bool
	err      error
}

// Done is closed when every request of the hold is final, or when [Hold.Err]
// says why that cannot be waited for. It is never closed after [Hold.Detach].
func (h *Hold) Done() <-chan struct{} { return h.done }

// Err is nil unless the hold ended without an answer: the store could not be
// reached for so long past a deadline that nobody can know how the request
// ended. It wraps [ErrStoreUnavailable]; nothing may be released then.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Requests are the requests as they stand, in the order of [Gate.Open].
func (h *Hold) Requests() []approvals.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Cancel ends the requests that are still pending; reason becomes their
// details.cancel_reason. Requests decided meanwhile keep their decision. If the
// store cannot be reached, the error says so and the gate goes on trying.
func (h *Hold) Cancel(ctx context.Context, reason string) error {
	var failed error
	for _, r := range h.Requests() {
		if r.Status.Final() {
			continue
		}
		_, err := h.gate.cancel(ctx, r.ID, reason)
		var decided *approvals.DecidedError
		if err == nil || errors.As(err, &decided) {
			continue
		}
		failed = errors.Join(failed, err)
		h.gate.due.add(&job{kind: jobCancel, id: r.ID, reason: reason, at: h.gate.now().Add(retryDelay)})
	}
	return failed
}

// Detach stops waiting and leaves the requests pending, to be decided later or
// by another replica. It may be called more than once and after the end.
func (h *Hold) Detach() {
	requests := h.Requests()
	h.gate.mu.Lock()
	for i := range requests {
		if w := h.gate.pending[requests[i].ID]; w != nil && w.hold == h {
			w.hold = nil
		}
	}
	h.gate.mu.Unlock()
	h.mu.Lock()
	h.detached = true
	h.mu.Unlock()
}

// update takes over how a request stands and reports the end of the hold.
func (h *Hold) update(index int, r approvals.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests[index].Status.Final() || h.detached || !movedOn(&r) {
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

// movedOn reports whether anything has become of a request since it was opened.
// What says otherwise is a copy of what the hold has, and holds are many.
func movedOn(r *approvals.Request) bool {
	return r.Status.Final() || len(r.Decisions) > 0 || !r.EscalatedAt().IsZero()
}

// abandon ends the hold without an answer.
func (h *Hold) abandon(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil && h.left > 0 && !h.detached {
		h.err = err
		close(h.done)
	}
}
