package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/webhook"
	"github.com/heldcall/heldcall/notify/webpush"
	"github.com/heldcall/heldcall/proxy"
)

// state is the opened store, as its users need it: a [store.Store], or in tests one in memory.
type state struct {
	gate       approvals.Store
	grants     approvals.GrantStore
	heldTurns  heldturns.Store
	leases     heldturns.Leases // nil if one process alone has the store
	turns      proxy.Turns
	events     events
	deliveries deliveries
	push       webpush.Store
	passkeys   passkeys.Store
	limits     policy.SharedCounts
	secrets    secrets.Store

	disconnect  func(reviewers []string) error            // from NATS; nil in memory
	useChannels func(names []string) error                // bots may not use their consumers; nil in memory
	startBots   func(nats.Options) (*nats.Service, error) // nil in memory, where there are none
	listenAddr  string                                    // see [App.NATSAddr]
	loss        string                                    // that was accepted, "" for none
	retained    time.Duration                             // see [store.Store.Retained]
	healthy     func(context.Context) error
	close       func() error
}

// events is the audit log.
type events interface {
	audit.Stored
	console.Audit
}

// deliveries has the events that channels have to deliver, and the keys of their links.
type deliveries interface {
	notify.Store
	webhook.Deliveries
}

// startStore opens the store.
func (p *parts) startStore(ctx context.Context, running *lifecycle) (err error) {
	open := func() (*state, error) { return p.openState(ctx) }
	if p.options.open != nil {
		open = p.options.open
	}
	if p.store, err = open(); err != nil {
		return err
	}
	p.judge.ShareCounts(p.store.limits)
	running.started("store", func(context.Context) error { return p.store.close() })
	if p.store.loss == "" {
		return nil
	}
	return p.recordLoss(ctx, p.store.loss)
}

// openState opens the store in NATS. The error of an external server names nats.url; the
// embedded server's errors name their setting themselves.
func (p *parts) openState(ctx context.Context) (*state, error) {
	c := p.options.Config.NATS
	names, _ := p.options.Config.Notify.names()
	s, err := store.Open(ctx, store.Options{
		URL: c.URL, Creds: c.Creds, NKey: c.NKey, TLSCA: c.TLS.CA, TLSCert: c.TLS.Cert, TLSKey: c.TLS.Key,
		Replicas: c.Replicas, Listen: cmp.Or(c.Listen, "-"), Dir: c.Dir, Scratch: p.options.Config.AuditDir(), Reviewers: p.reviewers, ReviewersOnly: c.Auth != natsOpen,
		Retention: p.options.Config.Audit.Retention, MaxStored: int64(p.options.Config.Hold.MaxStored), Channels: append(names, channelPush), AcceptLoss: p.options.AcceptLoss, Memory: p.memory,
		Log: p.log("store"), Registerer: p.registry,
	})
	if err != nil && c.URL != "" {
		return nil, fmt.Errorf("nats.url %s: %w", redactURLs(c.URL), err)
	}
	if err != nil {
		return nil, err
	}
	opened := &state{
		gate: s.ForGate(), grants: s.ForGrants(), heldTurns: s.ForHeldTurns(), turns: s.Turns, events: s.Events, deliveries: s.Deliveries,
		push: s.Push, passkeys: s.ForPasskeys(), limits: s.Limits, secrets: s.Secrets,
		disconnect: s.Disconnect, useChannels: s.UseChannels,
		startBots: func(o nats.Options) (*nats.Service, error) {
			o.Conn = s.Conn()
			return nats.Start(o)
		},
		listenAddr: s.ListenAddr(), loss: s.Loss(), retained: s.Retained(), healthy: s.Healthy, close: s.Close,
	}
	if leases := s.HeldTurns.Leases; leases != nil {
		opened.leases = leases
	}
	return opened, nil
}

// recordLoss adds an accepted loss to the audit log.
func (p *parts) recordLoss(ctx context.Context, loss string) error {
	now := time.Now().UTC()
	event := approvals.Event{ID: approvals.DerivedID(now, "loss_accepted"), Type: approvals.EventLossAccepted, Time: now, Note: loss}
	if err := p.store.events.AppendEvents(ctx, event); err != nil {
		return fmt.Errorf("record the accepted loss: %w", err)
	}
	return nil
}
