package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are what a [Dispatcher] is made of.
type Options struct {
	Store      Store
	Requests   Requests
	Channels   []Setup
	Routes     Routes
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
}

// Dispatcher delivers events to channels. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	metrics *metrics
	replica string
	routes  atomic.Pointer[Routes] // in force

	mu      sync.Mutex
	runners []*runner
	serving context.Context // of Run; nil before it, and after its end
	running sync.WaitGroup
}

// New makes a dispatcher. [Dispatcher.Run] starts it.
func New(o Options) (*Dispatcher, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{options: o, metrics: newMetrics(o.Registerer), replica: ulid.Make().String()}
	d.routes.Store(&o.Routes)
	if err := d.add(o.Channels); err != nil {
		return nil, err
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(&queueCollector{d}); err != nil {
			return nil, fmt.Errorf("notify: %w", err)
		}
	}
	return d, nil
}

// add adds channels, and serves them while the dispatcher runs. The caller holds d.mu, or has the only reference.
func (d *Dispatcher) add(channels []Setup) error {
	for _, s := range channels {
		taken := slices.ContainsFunc(d.runners, func(r *runner) bool { return r.channel.setup.Name == s.Name })
		if s.Name == "" || taken {
			return fmt.Errorf("notify: the name %q of a channel is empty or taken", s.Name)
		}
		r := newRunner(s, d.options, d.metrics.of(s.Name), d.replica, &d.routes)
		d.runners = append(d.runners, r)
		if d.serving != nil {
			d.serve(r)
		}
	}
	return nil
}

// serve serves a channel until its end, or that of the dispatcher. The caller holds d.mu.
func (d *Dispatcher) serve(r *runner) {
	var ctx context.Context
	ctx, r.stop = context.WithCancel(d.serving)
	r.ended = make(chan struct{})
	d.running.Go(func() {
		defer close(r.ended)
		r.run(ctx)
	})
}

// Run serves every channel until the context ends. Call it once, when requests can be
// read.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	d.serving = ctx
	for _, r := range d.runners {
		d.serve(r)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.serving = nil
	d.mu.Unlock()
	d.running.Wait()
	return nil
}

// Replace ends the channels with some names, adds others, and puts routes in force. Channels that stay are not
// interrupted. Deliveries of an ended channel that have begun may take a few seconds. It fails for a name that is taken.
func (d *Dispatcher) Replace(end []string, add []Setup, routes Routes) error {
	d.mu.Lock()
	d.routes.Store(&routes)
	var kept, ending []*runner
	for _, r := range d.runners {
		if slices.Contains(end, r.channel.setup.Name) {
			ending = append(ending, r)
		} else {
			kept = append(kept, r)
			r.sweeper.reroute()
		}
	}
	d.runners = kept
	d.mu.Unlock()
	for _, r := range ending {
		if r.stop != nil {
			r.stop()
		}
	}
	for _, r := range ending {
		if r.ended != nil {
			<-r.ended
		}
		d.metrics.faults.DeleteLabelValues(r.channel.setup.Name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.add(add)
}

// channels returns the runners of all channels.
func (d *Dispatcher) channels() []*runner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.runners)
}
