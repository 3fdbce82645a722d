package gate

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// timerWorkers bounds the timers that are worked on at the same time.
	timerWorkers = 16
	// clockCheck is how often the clock is read while timers wait: the timers of the
	// runtime stop while a machine sleeps, deadlines do not.
	clockCheck = time.Second
	// retryDelay is the pause before work that the store refused is tried again.
	retryDelay = time.Second
)

// timerKind is the work of a timer at its time.
type timerKind int

const (
	timerExpire   timerKind = iota // end a request whose deadline has come
	timerRepair                    // record and publish what a crash left out
	timerCancel                    // cancel a request that could not be cancelled before
	timerAbortRun                  // cancel the pending requests of an aborted run
	timerEscalate                  // let more groups decide a request
)

// timer is one thing to do at a time.
type timer struct {
	at     time.Time
	kind   timerKind
	id     string // of a request; of a run for timerAbortRun
	reason string // of a cancellation
	index  int    // in the heap, -1 when it is not in there
}

// scheduler keeps timers in the order of their times.
type scheduler struct {
	now  func() time.Time
	wake chan struct{} // receives when the first timer has changed

	mu     sync.Mutex
	timers timerHeap
}

func newScheduler(now func() time.Time) *scheduler {
	return &scheduler{now: now, wake: make(chan struct{}, 1)}
}

func (s *scheduler) add(t *timer) {
	s.mu.Lock()
	heap.Push(&s.timers, t)
	first := t.index == 0
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// retry adds a timer that fires after [retryDelay].
func (s *scheduler) retry(t timer) {
	t.at = s.now().Add(retryDelay)
	s.add(&t)
}

func (s *scheduler) remove(t *timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.index >= 0 {
		heap.Remove(&s.timers, t.index)
	}
}

// next removes and returns the first timer if its time has come, else nil and how long
// to wait.
func (s *scheduler) next() (*timer, time.Duration) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.timers) == 0 {
		return nil, time.Hour
	}
	if wait := s.timers[0].at.Sub(now); wait > 0 {
		return nil, min(wait, clockCheck)
	}
	return heap.Pop(&s.timers).(*timer), 0
}

// run calls fire for each timer when its time has come, until the context ends.
func (s *scheduler) run(ctx context.Context, fire func(context.Context, *timer)) error {
	var workers errgroup.Group
	workers.SetLimit(timerWorkers)
	defer func() { _ = workers.Wait() }() // they return no errors
	pause := time.NewTimer(0)
	defer pause.Stop()
	for ctx.Err() == nil {
		t, wait := s.next()
		if t != nil {
			workers.Go(func() error { fire(ctx, t); return nil })
			continue
		}
		pause.Reset(wait)
		select {
		case <-ctx.Done():
		case <-pause.C:
		case <-s.wake:
		}
	}
	return nil
}

// timerHeap orders timers by time, for container/heap.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds a timer at the end.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop removes the last timer.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}
