package heldturns

import (
	"context"
	"sync"
	"time"
)

// maxStale is the time after which requests no longer wait for an index that is not current:
// the store is lost, not only one of its servers.
const maxStale = 15 * time.Second

const (
	// readTimeout bounds one attempt to find out what other processes have stored.
	readTimeout = 2 * time.Second
	// readPause is the time between two attempts.
	readPause = 100 * time.Millisecond
)

// watches knows whether the watches of the store have all changes of other processes.
type watches struct {
	now    func() time.Time
	loaded chan struct{} // closed when all have been current for the first time

	mu      sync.Mutex
	behind  int           // watches that are not current
	since   time.Time     // when the first of them was not
	failing time.Time     // since when attempts to find out what others have stored fail; zero: they succeed
	current chan struct{} // closed while all are current
}

func newWatches(now func() time.Time) *watches {
	return &watches{now: now, loaded: make(chan struct{}), current: make(chan struct{})}
}

// add adds a watch. The store calls the result when the watch becomes current and when it no
// longer is.
func (w *watches) add() (changed func(current bool)) {
	w.behind++
	was := false
	return func(current bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if current == was {
			return
		}
		if was = current; current {
			w.caughtUp()
			return
		}
		if w.behind++; w.behind == 1 {
			w.since, w.current = w.now(), make(chan struct{})
		}
	}
}

func (w *watches) caughtUp() {
	if w.behind--; w.behind > 0 {
		return
	}
	close(w.current)
	select {
	case <-w.loaded:
	default:
		close(w.loaded)
	}
}

// await waits until all watches are current, but not longer than maxStale after they were.
func (w *watches) await(ctx context.Context) {
	w.mu.Lock()
	current, left := w.current, maxStale-w.now().Sub(w.since)
	w.mu.Unlock()
	select {
	case <-current:
		return
	default:
	}
	timeout := time.NewTimer(left)
	defer timeout.Stop()
	select {
	case <-current:
	case <-timeout.C:
	case <-ctx.Done():
	}
}

// retry records whether an attempt to find out what others have stored succeeded. It reports whether to
// try again: the attempt failed, and attempts have not failed for [maxStale] yet.
func (w *watches) retry(known bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case known:
		w.failing = time.Time{}
	case w.failing.IsZero():
		w.failing = w.now()
	}
	return !known && w.now().Sub(w.failing) < maxStale
}
