package notify

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// defaultWorkers is how many deliveries of a channel are made at the same time.
	defaultWorkers = 4
	// stopGrace is how long deliveries may take that have begun when the context ends.
	stopGrace = 5 * time.Second
)

// runner serves one channel: its stages, and the workers that take items through them.
type runner struct {
	channel   *channel
	queue     *queue
	intake    *intake
	sweeper   *sweeper
	cards     *cards
	placer    *placer
	grouper   *grouper
	deliverer *deliverer
	retrier   *retrier

	stop  context.CancelFunc // ends run; nil before it
	ended chan struct{}      // closed at the end of run
}

func newRunner(s Setup, o Options, m channelMetrics, replica string, routes *atomic.Pointer[Routes]) *runner {
	if s.Workers <= 0 {
		s.Workers = defaultWorkers
	}
	if s.EachEvent {
		s.Group, s.Gather = Group{}, 0
	}
	rateLimit := rate.NewLimiter(rate.Inf, 1)
	if s.Rate > 0 {
		rateLimit = rate.NewLimiter(rate.Limit(s.Rate), max(s.Burst, 1))
	}
	c := &channel{setup: s, log: o.Log.With("channel", s.Name), metrics: m, faults: newFaults(m.faults)}
	r := &runner{channel: c, queue: newQueue(s.Name)}
	limit := newCardLimit(s.Group)
	r.intake = &intake{channel: c, store: o.Store, queue: r.queue}
	r.sweeper = &sweeper{channel: c, store: o.Store, requests: o.Requests, routes: routes, queue: r.queue, rerouted: make(chan struct{}, 1)}
	r.cards = &cards{channel: c, store: o.Store, requests: o.Requests, replica: replica, locked: map[string]bool{}}
	r.placer = &placer{channel: c, routes: routes, queue: r.queue, limit: limit}
	r.deliverer = &deliverer{channel: c, cards: r.cards, threads: &threads{channel: c, store: o.Store}, queue: r.queue, rate: rateLimit}
	r.grouper = &grouper{channel: c, queue: r.queue, cards: r.cards, limit: limit, deliverer: r.deliverer}
	r.retrier = &retrier{channel: c, queue: r.queue}
	return r
}

// run serves the channel until the context ends, and returns the messages that are left,
// so that another replica continues at once.
func (r *runner) run(ctx context.Context) {
	// Deliveries that have begun when the context ends may finish: it could not be found
	// out later whether they did.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, stop) })()

	var all sync.WaitGroup
	followed := make(chan struct{})
	all.Go(func() { r.intake.follow(ctx, sync.OnceFunc(func() { close(followed) })) })
	all.Go(func() { r.intake.keepWorking(ctx) })
	all.Go(func() { r.sweeper.run(ctx, followed) })
	if listener, ok := r.channel.setup.Channel.(Listener); ok {
		all.Go(func() { r.channel.repeat(ctx, "answers of a channel cannot be taken", listener.Listen) })
	}
	for range r.channel.setup.Workers {
		all.Go(func() { r.work(ctx, work) })
	}
	all.Wait()
	r.intake.returnAll()
}

func (r *runner) work(ctx, deliveries context.Context) {
	for ctx.Err() == nil {
		it, wait := r.queue.next(time.Now())
		if it != nil {
			r.process(deliveries, it)
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.queue.wake:
		case <-time.After(wait):
		}
	}
}

func (r *runner) process(ctx context.Context, it *item) {
	if it.batch != nil {
		r.grouper.post(ctx, it)
		return
	}
	ids, events := r.queue.snapshot(it)
	waits, err := r.deliver(ctx, it, ids, events)
	switch {
	case err != nil:
		r.retrier.failed(it, events, err)
	case waits != nil:
		r.queue.joinBatch(it, waits.batchKey, waits.at)
	default:
		r.retrier.done(it, events)
	}
}

// deliver updates the card of an item wherever it is posted, and posts it where routes
// lead now. It returns where the item has to wait for others, nil if nowhere.
func (r *runner) deliver(ctx context.Context, it *item, ids []string, events []approvals.Event) (*batching, error) {
	unlock, err := r.cards.lock(it.key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	rec, requests, err := r.cards.read(ctx, it.key, ids)
	if err != nil || len(requests) == 0 { // retention has removed them
		return nil, err
	}
	waits := r.placer.place(it, rec, requests)
	groups := r.grouper.updateAll(ctx, rec)
	return waits, errors.Join(groups, r.deliverer.deliver(ctx, rec, requests, events))
}
