package gate

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// agendaWorkers bounds the jobs done at the same time.
	agendaWorkers = 16
	// agendaLook is how often the clock is looked at while jobs wait: timers
	// stand still while a machine sleeps, deadlines do not.
	agendaLook = time.Second
)

type jobKind int

const (
	jobExpire   jobKind = iota // end a request whose deadline has come
	jobRepair                  // record and publish what a crash left undone
	jobCancel                  // cancel a request that could not be cancelled before
	jobAbortRun                // cancel the pending requests of an aborted run
	jobEscalate                // let more groups decide a request
)

// job is one thing to do at a time. id is a request's, or a run's.
type job struct {
	at     time.Time
	kind   jobKind
	id     string
	reason string
	place  int // in the heap, -1 when it is not in there
}

// agenda is the list of jobs by time.
type agenda struct {
	mu   *sync.Mutex
	jobs *jobHeap
	wake chan struct{} // signals that the first job has changed
}

func newAgenda() agenda {
	return agenda{mu: &sync.Mutex{}, jobs: &jobHeap{}, wake: make(chan struct{}, 1)}
}

func (a agenda) add(j *job) {
	a.mu.Lock()
	heap.Push(a.jobs, j)
	first := j.place == 0
	a.mu.Unlock()
	if first {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

func (a agenda) remove(j *job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j.place >= 0 {
		heap.Remove(a.jobs, j.place)
	}
}

// next takes the first job if it is due; else it says how long to wait.
func (a agenda) next(now time.Time) (*job, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(*a.jobs) == 0 {
		return nil, time.Hour
	}
	first := (*a.jobs)[0]
	if wait := first.at.Sub(now); wait > 0 {
		return nil, min(wait, agendaLook)
	}
	return heap.Pop(a.jobs).(*job), 0
}

// keepAgenda does jobs as they fall due, until the context ends.
func (g *Gate) keepAgenda(ctx context.Context) error {
	var workers errgroup.Group
	workers.SetLimit(agendaWorkers)
	defer func() { _ = workers.Wait() }() // they return no errors
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		j, wait := g.due.next(g.now())
		if j != nil {
			workers.Go(func() error { g.do(ctx, j); return nil })
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-g.due.wake:
		}
	}
	return nil
}

// do does one job, and puts it back on the agenda if the store refused.
func (g *Gate) do(ctx context.Context, j *job) {
	var err error
	switch j.kind {
	case jobExpire:
		_, err = g.expire(ctx, j.id)
	case jobRepair:
		err = g.repair(ctx, j.id)
	case jobCancel:
		_, err = g.cancel(ctx, j.id, j.reason)
	case jobAbortRun:
		err = g.cancelRun(ctx, j.id)
	case jobEscalate:
		err = g.escalate(ctx, j.id, j.at)
	}
	var decided *approvals.DecidedError
	switch {
	case err == nil || errors.As(err, &decided) || ctx.Err() != nil:
	case errors.Is(err, approvals.ErrUnknownRequest) && g.isRecording(j.id):
		g.retry(j)
	case errors.Is(err, approvals.ErrUnknownRequest):
		g.giveUp(j.id, fmt.Errorf("it is no longer recorded: %w", approvals.ErrStoreUnavailable))
		g.forget(j.id)
	default:
		g.giveUpLate(j.id, err)
		g.log.Warn("the store refused; trying again", "id", j.id, "error", err)
		g.retry(j)
	}
}

// retry puts a job back.
func (g *Gate) retry(j *job) {
	again := *j
	again.at = g.now().Add(retryDelay)
	g.due.add(&again)
}

func (g *Gate) isRecording(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.pending[id]
	return w != nil && w.recording
}

// giveUpLate ends the hold of a request that is long past its deadline.
func (g *Gate) giveUpLate(id string, err error) {
	g.mu.Lock()
	w := g.pending[id]
	late := w != nil && g.now().After(w.expiresAt.Add(giveUpAfter))
	g.mu.Unlock()
	if late {
		g.giveUp(id, err)
	}
}

// giveUp ends the hold of a request without an answer.
func (g *Gate) giveUp(id string, err error) {
	g.mu.Lock()
	var hold *Hold
	if w := g.pending[id]; w != nil {
		hold = w.hold
	}
	g.mu.Unlock()
	if hold != nil {
		hold.abandon(fmt.Errorf("wait for request %s: %w", id, err))
	}
}

// jobHeap orders jobs by time, for container/heap.
type jobHeap []*job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h jobHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push adds a job at the end.
func (h *jobHeap) Push(x any) {
	j := x.(*job)
	j.place = len(*h)
	*h = append(*h, j)
}

// Pop takes the last job.
func (h *jobHeap) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	j.place = -1
	return j
}
