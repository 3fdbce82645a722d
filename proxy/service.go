package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/turn"
)

// defaultStartPatience is less than clients wait for an answer: half a minute and more. After a 503 they
// repeat the request.
const defaultStartPatience = 15 * time.Second

// errNotStarted is the cause of the end of requests that waited for a start.
var errNotStarted = errors.New("heldcall has not started")

// service counts the exchanges that are served, from a request's arrival to the last byte of its answer. Those
// that arrive before the start wait for it, and from the stop on none begins.
type service struct {
	opened   chan struct{} // closed at the start
	patience time.Duration // how long a request waits for that

	mu      sync.Mutex
	running int
	ended   chan struct{} // closed when the last exchange has ended after the stop; nil before the stop
	stopped chan struct{} // closed at the stop
}

// begin counts an exchange, unless heldcall stops.
func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	s.running++
	return true
}

// end ends what begin has counted.
func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.ended != nil {
		close(s.ended)
	}
}

// stop lets no exchange begin any more. The channel is closed when none runs.
func (s *service) stop() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = make(chan struct{})
		close(s.stopped)
		if s.running == 0 {
			close(s.ended)
		}
	}
	return s.ended
}

// isOpen reports whether requests are served.
func (s *service) isOpen() bool {
	select {
	case <-s.opened:
		return true
	default:
		return false
	}
}

// await waits until requests are served. The error refuses one that has waited for too long, or whose
// context has ended.
func (s *service) await(ctx context.Context) *intercept.Error {
	if s.isOpen() {
		return nil
	}
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	select {
	case <-s.opened:
	case <-patience.C:
		return unavailable(fmt.Sprintf("heldcall is starting, and has read its state for more than %v; send the request again later", s.patience), nil)
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); cause != nil {
		return s.refusal(cause)
	}
	return nil
}

// refusal is the error for a request that is not served because of a cause.
func (s *service) refusal(cause error) *intercept.Error {
	if errors.Is(cause, errNotStarted) || (errors.Is(cause, turn.ErrShuttingDown) && !s.isOpen()) {
		return unavailable("heldcall could not start, or was stopped before it had; its log has the cause", errNotStarted)
	}
	return turn.Explain(cause)
}

func unavailable(reason string, err error) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: reason, Err: err}
}

// ended waits for a channel to be closed.
func ended(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
