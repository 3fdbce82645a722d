package app

import (
	"context"

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
	o.open = func() *state {
		s := memstore.New(memstore.Options{MaxStored: int64(o.Config.Hold.MaxStored)})
		return &state{
			gate: s.ForGate(), grants: s.ForGrants(), heldTurns: s.ForHeldTurns(), turns: s.Turns, events: s.Events, deliveries: s.Deliveries,
			push: s.Push, passkeys: s.Passkeys, limits: s.Limits, secrets: s.Secrets, healthy: s.Healthy, close: s.Close,
		}
	}
	return o
}
