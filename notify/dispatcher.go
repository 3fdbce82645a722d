package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// defaultWorkers is how many deliveries of a channel are made at the same time.
	defaultWorkers = 4
	// workingEvery is how often messages in hand are said to be worked on; the store
	// hands them over anew after half a minute without.
	workingEvery = 10 * time.Second
	// stopGrace is how long deliveries may take that are on their way at the end.
	stopGrace = 5 * time.Second
)

// Options are what a [Dispatcher] is made of.
type Options struct {
	Store      Store
	Requests   Requests
	Channels   []Setup
	Routes     Routes
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: nothing is measured outside
}

// Dispatcher tells channels what happens.
type Dispatcher struct {
	runners []*runner
}

// New makes a dispatcher. [Dispatcher.Run] starts it.
func New(o Options) (*Dispatcher, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{}
	names := map[string]bool{}
	m := newMetrics(o.Registerer)
	replica := ulid.Make().String()
	for _, s := range o.Channels {
		if s.Name == "" || names[s.Name] {
			return nil, fmt.Errorf("notify: the name %q of a channel is empty or taken", s.Name)
		}
		names[s.Name] = true
		d.runners = append(d.runners, newRunner(s, o, m.of(s.Name), replica))
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(&queueCollector{d.runners}); err != nil {
			return nil, fmt.Errorf("notify: %w", err)
		}
	}
	return d, nil
}

// Run tells every channel what happens until the context ends. Call it once, when
// requests can be read.
func (d *Dispatcher) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range d.runners {
		all.Go(func() { r.run(ctx) })
	}
	all.Wait()
	return nil
}

// runner serves one channel.
type runner struct {
	Setup
	name     string
	routes   Routes
	store    Store
	requests Requests
	replica  string
	log      *slog.Logger
	metrics  channelMetrics
	queue    *queue
	traffic  *traffic
	limit    *rate.Limiter

	mu     sync.Mutex
	inHand map[string]bool // keys of cards

	swept time.Time // the last tick that this replica swept, or sweeps; of the sweeper
}

func newRunner(s Setup, o Options, m channelMetrics, replica string) *runner {
	r := &runner{
		Setup: s, name: s.Name, routes: o.Routes, store: o.Store, requests: o.Requests, replica: replica,
		log: o.Log.With("channel", s.Name), metrics: m, queue: newQueue(),
		traffic: &traffic{group: s.Group, last: map[string][]time.Time{}},
		limit:   rate.NewLimiter(rate.Inf, 1),
		inHand:  map[string]bool{},
	}
	if r.Workers <= 0 {
		r.Workers = defaultWorkers
	}
	if s.Rate > 0 {
		r.limit = rate.NewLimiter(rate.Limit(s.Rate), max(s.Burst, 1))
	}
	if s.EachEvent {
		r.traffic.group = Group{}
	}
	return r
}

// run serves the channel until the context ends, and gives back what it then has in
// hand, so that another replica can go on at once.
func (r *runner) run(ctx context.Context) {
	// What is on its way when the end comes may arrive: nobody could tell later
	// whether it has.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, stop) })()

	var all sync.WaitGroup
	followed := make(chan struct{})
	all.Go(func() { r.follow(ctx, sync.OnceFunc(func() { close(followed) })) })
	all.Go(func() { r.keepWorking(ctx) })
	all.Go(func() { r.sweep(ctx, followed) })
	if listener, ok := r.Channel.(Listener); ok {
		all.Go(func() { r.listen(ctx, listener) })
	}
	for range r.Workers {
		all.Go(func() { r.keepTelling(ctx, work) })
	}
	all.Wait()
	for _, m := range r.queue.messages() {
		m.Return()
	}
}

// follow queues what the store hands over.
func (r *runner) follow(ctx context.Context, following func()) {
	r.again(ctx, "the events of a channel cannot be read", func(ctx context.Context) error {
		return r.store.Follow(ctx, r.name, Told(), following, func(e approvals.Event, m Message) {
			if r.idle() {
				m.Done()
				return
			}
			r.queue.add(r.keyOf(e.RequestID, e.TurnID), r.kept(e), m, time.Time{})
		})
	})
}

// kept is what of an event waits to be told: a card shows its requests, which are read
// when its turn has come, and of events only machines get all.
func (r *runner) kept(e approvals.Event) approvals.Event {
	if r.EachEvent {
		return e
	}
	e.Before, e.After, e.Doubts, e.Grant = nil, nil, nil, nil
	return e
}

// listen takes what people answer on the channel.
func (r *runner) listen(ctx context.Context, l Listener) {
	r.again(ctx, "answers of a channel cannot be taken", l.Listen)
}

// again does something anew, after a pause, for as long as the context lasts.
func (r *runner) again(ctx context.Context, failed string, do func(context.Context) error) {
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

// keyOf is the key of the card that a request belongs to: the calls that a model
// made together were asked about at the same time, which is the first part of their
// ids. A machine gets a card a request.
func (r *runner) keyOf(requestID, turnID string) string {
	if r.EachEvent || turnID == "" || len(requestID) != ulid.EncodedSize {
		return requestID
	}
	return requestID[:10] + "-" + turnID
}

// keepWorking tells the store that what waits here is not forgotten.
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

// sweep queues what waits for people and may be told: at the start, as the channel
// may be new or the process have died, and whenever routes end a time of silence.
//
// It begins when the channel is followed: what is asked before is listed, and what
// is asked after is handed over.
func (r *runner) sweep(ctx context.Context, followed <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-followed:
	}
	var tick time.Time
	r.again(ctx, "what waits cannot be listed", func(ctx context.Context) error {
		for { // an error comes back to the same tick
			if err := r.sweepAt(ctx, tick); err != nil {
				return err
			}
			from := time.Now()
			if tick.After(from) {
				from = tick
			}
			next := r.routes.tick(from)
			if next.IsZero() {
				<-ctx.Done()
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Until(next)):
				tick = next
			}
		}
	})
}

// tickKey is where a channel notes the last tick that was swept by any replica.
const tickKey = "tick"

// sweepAt queues what waits at a tick, unless another replica does: each request
// would be told once all the same, but not together with the others.
func (r *runner) sweepAt(ctx context.Context, tick time.Time) error {
	if !tick.Equal(r.swept) {
		first, err := r.first(ctx, tick)
		if err != nil || !first {
			return err
		}
		r.swept = tick // an error from here on comes back here
	}
	return r.queueWaiting(ctx, tick)
}

// first reports whether this replica is the first to come at a tick.
func (r *runner) first(ctx context.Context, tick time.Time) (bool, error) {
	value, revision, err := r.store.Note(ctx, r.name, tickKey)
	if err != nil {
		return false, err
	}
	var last time.Time
	if revision > 0 {
		if err := last.UnmarshalText(value); err != nil {
			return false, fmt.Errorf("read the last tick: %w", err)
		}
	}
	if !last.Before(tick) {
		return false, nil
	}
	if value, err = tick.UTC().MarshalText(); err != nil {
		return false, err
	}
	_, err = r.store.PutNote(ctx, r.name, tickKey, value, revision)
	if errors.Is(err, approvals.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// idle reports whether there is nobody to tell.
func (r *runner) idle() bool {
	chooser, chooses := r.Channel.(Chooser)
	return chooses && !chooser.Anybody()
}

// queueWaiting queues every request that waits for people.
func (r *runner) queueWaiting(ctx context.Context, tick time.Time) error {
	if r.idle() {
		return nil
	}
	filter := approvals.Filter{Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := r.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			q := &page.Items[i]
			r.queue.add(r.keyOf(q.ID, q.TurnID), r.kept(approvals.RequiredEvent(q)), nil, tick)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}
