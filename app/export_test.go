package app

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/proxy"
)

// WithCanary has a start be proven by a function of the test.
func (o Options) WithCanary(try func(context.Context, *proxy.Proxy) error) Options {
	o.canary = try
	return o
}

// WithProxy has a function of the test change the options of the proxy.
func (o Options) WithProxy(change func(*proxy.Options)) Options {
	o.proxy = change
	return o
}

// InMemory has a heldcall keep its state in memory. It then has no NATS server, and serves no bots.
func (o Options) InMemory() Options {
	o.open = func() (*state, error) {
		s := memstore.New(memstore.Options{MaxStored: int64(o.Config.Hold.MaxStored)})
		return &state{
			gate: s.ForGate(), grants: s.ForGrants(), heldTurns: s.ForHeldTurns(), turns: s.Turns, events: s.Events, deliveries: s.Deliveries,
			push: s.Push, passkeys: s.Passkeys, limits: s.Limits, secrets: s.Secrets, healthy: s.Healthy, close: s.Close,
		}, nil
	}
	return o
}

// Opening has the state in memory be open when the channel yields an error, nil if it can be opened.
func (o Options) Opening(result <-chan error) Options {
	inMemory := o.InMemory().open
	o.open = func() (*state, error) {
		if err := <-result; err != nil {
			return nil, err
		}
		return inMemory()
	}
	return o
}

// Record appends to the audit log.
func (a *App) Record(ctx context.Context, e approvals.Event) error {
	return a.parts.gate.Record(ctx, e)
}
