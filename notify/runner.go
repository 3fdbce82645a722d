package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// defaultWorkers is how many deliveries of a channel are made at the same time.
	defaultWorkers = 4
	// workingEvery is the time between two reports that a message is worked on; after
	// half a minute without the store delivers it again.
	workingEvery = 10 * time.Second
	// stopGrace is how long deliveries that have begun may take at the end.
	stopGrace = 5 * time.Second
)

// runner serves one channel: it queues the events of requests, and its workers bring
// the cards of the queue up to date.
type runner struct {
	setup    Setup
	routes   Routes
	store    Store
	requests Requests
	cards    *cards
	sender   *sender
	log      *slog.Logger
	metrics  channelMetrics
	queue    *queue
	traffic  *traffic

	swept time.Time // the last tick that this replica swept, or sweeps; of the sweeper
}

func newRunner(s Setup, o Options, m channelMetrics, replica string) *runner {
	if s.Workers <= 0 {
		s.Workers = defaultWorkers
	}
	group := s.Group
	if s.EachEvent {
		group = Group{}
	}
	log := o.Log.With("channel", s.Name)
	c := &cards{channel: s.Name, eachEvent: s.EachEvent, store: o.Store, requests: o.Requests, replica: replica, busy: map[string]bool{}}
	return &runner{
		setup: s, routes: o.Routes, store: o.Store, requests: o.Requests, cards: c,
		sender: &sender{setup: s, cards: c, limit: s.limiter(), log: log, metrics: m},
		log:    log, metrics: m, queue: newQueue(),
		traffic: &traffic{group: group, last: map[string][]time.Time{}},
	}
}

// limiter bounds the deliveries of the channel.
func (s Setup) limiter() *rate.Limiter {
	if s.Rate > 0 {
		return rate.NewLimiter(rate.Limit(s.Rate), max(s.Burst, 1))
	}
	return rate.NewLimiter(rate.Inf, 1)
}

// run serves the channel until the context ends, and returns its messages then, so
// that another replica can continue at once.
func (r *runner) run(ctx context.Context) {
	// Deliveries that have begun may end: later it could not be found out whether
	// they arrived.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, stop) })()

	var all sync.WaitGroup
	followed := make(chan struct{})
	all.Go(func() { r.follow(ctx, sync.OnceFunc(func() { close(followed) })) })
	all.Go(func() { r.keepWorking(ctx) })
	all.Go(func() { r.sweep(ctx, followed) })
	if listener, ok := r.setup.Channel.(Listener); ok {
		all.Go(func() { r.listen(ctx, listener) })
	}
	for range r.setup.Workers {
		all.Go(func() { r.work(ctx, work) })
	}
	all.Wait()
	for _, m := range r.queue.messages() {
		m.Return()
	}
}

// follow queues the events that the store delivers.
func (r *runner) follow(ctx context.Context, following func()) {
	r.retry(ctx, "the events of a channel cannot be read", func(ctx context.Context) error {
		return r.store.Follow(ctx, r.setup.Name, Told(), following, func(e approvals.Event, m Message) {
			if r.idle() {
				m.Done()
				return
			}
			r.queue.add(r.cards.keyOf(e.RequestID, e.TurnID), r.kept(e), m, time.Time{})
		})
	})
}

// kept is the part of an event that is queued: a card shows its requests, which are
// read when it is delivered, and only machines get whole events.
func (r *runner) kept(e approvals.Event) approvals.Event {
	if r.setup.EachEvent {
		return e
	}
	e.Before, e.After, e.Doubts, e.Grant = nil, nil, nil, nil
	return e
}

// listen takes the answers of people on the channel.
func (r *runner) listen(ctx context.Context, l Listener) {
	r.retry(ctx, "answers of a channel cannot be taken", l.Listen)
}

// retry does something again, after a pause, for as long as the context lasts.
func (r *runner) retry(ctx context.Context, failed string, do func(context.Context) error) {
	for attempts := 1; ; attempts++ {
		began := time.Now()
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxPause {
			attempts = 1
		}
		r.log.Warn(failed+"; trying again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause(attempts)):
		}
	}
}

// keepWorking reports to the store that queued messages are worked on.
func (r *runner) keepWorking(ctx context.Context) {
	tick := time.NewTicker(workingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, m := range r.queue.messages() {
				m.Working()
			}
		}
	}
}
