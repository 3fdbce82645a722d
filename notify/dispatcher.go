package notify

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

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

// Dispatcher delivers events to channels.
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
	collector := &queueCollector{}
	for _, s := range o.Channels {
		if s.Name == "" || names[s.Name] {
			return nil, fmt.Errorf("notify: the name %q of a channel is empty or taken", s.Name)
		}
		names[s.Name] = true
		r := newRunner(s, o, m.of(s.Name), replica)
		d.runners = append(d.runners, r)
		collector.queues = append(collector.queues, r.queue)
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("notify: %w", err)
		}
	}
	return d, nil
}

// Run serves every channel until the context ends. Call it once, when requests can be
// read.
func (d *Dispatcher) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range d.runners {
		all.Go(func() { r.run(ctx) })
	}
	all.Wait()
	return nil
}
