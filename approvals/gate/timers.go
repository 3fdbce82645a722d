package gate

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// timerWorkers is the number of timers that are processed at the same time.
	timerWorkers = 16
	// clockCheck is the time between two looks at the clock: timers of the Go runtime
	// stop while a machine sleeps, deadlines do not.
	clockCheck = time.Second
)

// timerKind is the kind of work of a timer.
type timerKind int

const (
	timerExpire   timerKind = iota // end a request whose deadline has come
	timerRepair                    // write the records that a crash left out
	timerCancel                    // cancel a request
	timerWork                      // do the work of the timer
	timerEscalate                  // let more groups decide a request
)

// timer is work to be done at a time.
type timer struct {
	at     time.Time
	kind   timerKind
	id     string                      // of a request, for timerWork of a run
	reason string                      // of a cancellation
	work   func(context.Context) error // of timerWork
}

// scheduler keeps timers and fires each at its time.
type scheduler struct {
	now  func() time.Time
	wake chan struct{} // receives when the first timer has changed

	mu     sync.Mutex
	timers []*timer       // the earliest first; most are added at the end
	work   map[string]int // number of timers that have something to write about a request, by its id
}

func newScheduler(now func() time.Time) *scheduler {
	return &scheduler{now: now, wake: make(chan struct{}, 1), work: map[string]int{}}
}

func (s *scheduler) add(t *timer) {
	s.mu.Lock()
	if t.writes() {
		s.work[t.id]++
	}
	place, _ := slices.BinarySearchFunc(s.timers, t.at, func(other *timer, at time.Time) int { return other.at.Compare(at) })
	s.timers = slices.Insert(s.timers, place, t)
	s.mu.Unlock()
	if place == 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// writes reports whether a timer has something to write about a request that may be final.
func (t *timer) writes() bool { return t.kind == timerRepair || t.kind == timerCancel }

// done marks that the work of a timer is done, or that another timer for the same work was added.
func (s *scheduler) done(t *timer) {
	if !t.writes() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work[t.id]--; s.work[t.id] == 0 {
		delete(s.work, t.id)
	}
}

// working reports whether a timer has something to write about a request.
func (s *scheduler) working(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work[id] > 0
}

// retry adds a timer that fires after [approvals.RetryDelay].
func (s *scheduler) retry(t timer) {
	t.at = s.now().Add(approvals.RetryDelay)
	s.add(&t)
}

func (s *scheduler) remove(t *timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place := slices.Index(s.timers, t); place >= 0 {
		s.timers = slices.Delete(s.timers, place, place+1)
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
	first := s.timers[0]
	s.timers = slices.Delete(s.timers, 0, 1)
	return first, 0
}

// run calls fire for each timer when its time has come, until the context ends. It begins when
// ready is closed: before, the lists of requests are not complete.
func (s *scheduler) run(ctx context.Context, ready <-chan struct{}, fire func(context.Context, *timer)) error {
	select {
	case <-ready:
	case <-ctx.Done():
	}
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
