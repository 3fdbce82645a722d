package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// appendBeside appends events by several goroutines until the test has called stop.
func appendBeside(t *testing.T, s *Store, each func(error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				each(s.Events.AppendEvents(context.Background(), approvals.Event{ID: fmt.Sprint(i, "-", n), Type: approvals.EventCallAllowed}))
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// An event is ensured while others are appended all the time.
func TestEnsureEventBesideAppends(t *testing.T) {
	s := openForTest(t)
	defer appendBeside(t, s, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})()
	for n := range 5 {
		for range 2 {
			if err := s.Events.EnsureEvent(t.Context(), approvals.Event{ID: fmt.Sprint("ensured-", n), Type: approvals.EventCallAllowed}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Appends succeed again when the embedded server has been restarted, and nothing that was appended is lost.
func TestEventsWhileTheServerRestarts(t *testing.T) {
	s := openForTest(t)
	var mu sync.Mutex
	var appended uint64
	var failed time.Time
	stop := appendBeside(t, s, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = time.Now()
			return
		}
		appended++
	})
	time.Sleep(100 * time.Millisecond)
	if err := s.server.restart(); err != nil {
		t.Error(err)
	}
	restarted := time.Now()
	time.Sleep(time.Second)
	stop()
	if failed.After(restarted.Add(500 * time.Millisecond)) {
		t.Errorf("an append failed %s after the restart", failed.Sub(restarted))
	}
	var read uint64
	for _, err := range s.Events.Entries(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		read++
	}
	if read < appended {
		t.Errorf("%d of %d entries", read, appended)
	}
}
