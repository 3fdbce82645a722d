package console

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/console/problem"
)

// openStreams counts the WebSockets and event streams that are open: the HTTP server
// forgets a connection that has become a WebSocket.
type openStreams struct {
	mu      sync.Mutex
	open    int
	of      map[string]*attendance // by the reviewer's name
	closing bool
	none    chan struct{} // closed when there are none and will be none
}

// attendance is how many streams a reviewer has open, and how often they may ask for
// the state of agents.
type attendance struct {
	open     int
	statuses *rate.Limiter
}

func newOpenStreams() *openStreams {
	return &openStreams{of: map[string]*attendance{}, none: make(chan struct{})}
}

func (s *openStreams) enter(name string) (statuses *rate.Limiter, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.of[name]
	switch {
	case s.closing:
		return nil, errStopping
	case s.open >= mostSockets, who != nil && who.open >= socketsOfOne:
		return nil, errTooMany
	case who == nil:
		who = &attendance{statuses: rate.NewLimiter(rate.Every(statusEvery), statusesAtOnce)}
		s.of[name] = who
	}
	s.open++
	who.open++
	return who.statuses, nil
}

func notEntered(err error) error {
	if errors.Is(err, errTooMany) {
		return problem.New(http.StatusTooManyRequests, problem.CodeTooManySockets, err.Error())
	}
	return problem.New(http.StatusServiceUnavailable, problem.CodeNotReady, err.Error())
}

func (s *openStreams) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.of[name].open--; s.of[name].open == 0 {
		delete(s.of, name)
	}
	if s.closing && s.open == 0 {
		close(s.none)
	}
}

func (s *openStreams) close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		if s.open == 0 {
			close(s.none)
		}
	}
	s.mu.Unlock()
	select {
	case <-s.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
