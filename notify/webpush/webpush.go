// Package webpush is the channel to the browsers of reviewers who subscribe, on their phones too: it
// sends notifications of requests by Web Push: RFC 8030, with payloads encrypted for
// the browser (RFC 8291) and signed requests (RFC 8292).
//
// A browser's push service is a third party, and a lock screen shows notifications:
// they contain the tool, the agent and the risk, and none of the arguments, unless the
// operator wants it otherwise. Each reviewer gets the requests that they may approve. A
// notification is replaced once its request has ended.
package webpush

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// maxBrowsers is how many browsers one reviewer may subscribe; one more removes the oldest.
const maxBrowsers = 20

// Options are what a [Push] is made of.
type Options struct {
	Store Store
	// CanApprove is that of [gate.Gate].
	CanApprove func(r *approvals.Request, d approvals.Decision) bool
	// Reviewer finds the reviewers of the configuration, and HoldsToken reports which of
	// them have a token. Those without one get notifications while their sign-in is valid;
	// with the rights of their sign-in, where the configuration does not name them and
	// what Rights returns has not changed: all of the configuration that gives rights.
	Reviewer   func(name string) (reviewers.Reviewer, bool)
	HoldsToken func(name string) bool
	Rights     func() string
	// Contact is the address of the operator for push services: an e-mail address or an
	// https URL.
	Contact string
	// Preview shows the arguments as lists do.
	Preview bool
	// Private permits push services on private and loopback addresses, and http.
	Private bool
	Log     *slog.Logger // nil: discards
}

// Push is the channel. It is safe for concurrent use.
type Push struct {
	canApprove    func(r *approvals.Request, d approvals.Decision) bool
	reviewer      func(name string) (reviewers.Reviewer, bool)
	holdsToken    func(name string) bool
	rights        func() string
	preview       bool
	log           *slog.Logger
	subscriptions *subscriptions
	sender        *sender
	delivered     *delivered
}

// Open reads or makes the key. Nothing is sent until [Push.Run] runs.
func Open(ctx context.Context, o Options) (*Push, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fresh, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for Web Push: %w", err)
	}
	kept, err := o.Store.PushKey(ctx, fresh.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read the key for Web Push: %w", err)
	}
	key, err := ecdh.P256().NewPrivateKey(kept)
	if err != nil {
		return nil, fmt.Errorf("the recorded key for Web Push is not valid: %w", err)
	}
	return &Push{
		canApprove: o.CanApprove, reviewer: o.Reviewer, holdsToken: o.HoldsToken, rights: o.Rights, preview: o.Preview, log: o.Log,
		subscriptions: newSubscriptions(o.Store), sender: newSender(o, key), delivered: newDelivered(),
	}, nil
}

// Run follows the subscriptions of the store until the context ends.
func (p *Push) Run(ctx context.Context) error { return p.subscriptions.follow(ctx) }

// Ready is closed once the subscriptions of the store are known.
func (p *Push) Ready() <-chan struct{} { return p.subscriptions.loaded }

// PublicKey returns the key with which browsers subscribe: an uncompressed point in base64url.
func (p *Push) PublicKey() string { return p.sender.public }

// Subscribe subscribes a browser to the requests that its reviewer may approve. signed
// is nil for a reviewer who has not signed in. It fails with [*approvals.InvalidError]
// or [approvals.ErrStoreUnavailable]. An endpoint has one reviewer: the last who
// subscribed in the browser.
func (p *Push) Subscribe(ctx context.Context, reviewer string, signed *reviewers.SignedIn, endpoint, p256dh, auth string) (reviewers.Subscription, error) {
	s, err := reviewers.NewSubscription(reviewer, endpoint, p256dh, auth, time.Now())
	if signed != nil {
		s.Signed = &reviewers.SignedIn{Who: signed.Who, Until: signed.Until, Under: p.rights()}
	}
	if err == nil {
		err = checkEndpoint(endpoint, p.sender.private)
	}
	if err != nil {
		return s, &approvals.InvalidError{Field: "endpoint", Reason: err.Error()}
	}
	if err := p.subscriptions.add(ctx, s); err != nil {
		return s, err
	}
	subscribed := p.subscriptions.of(reviewer)
	for _, old := range subscribed[min(maxBrowsers, len(subscribed)):] {
		err = errors.Join(err, p.subscriptions.remove(ctx, old.ID))
	}
	return s, err
}

// Subscriptions returns those of a reviewer, the latest first.
func (p *Push) Subscriptions(reviewer string) []reviewers.Subscription {
	return p.subscriptions.of(reviewer)
}

// Unsubscribe removes the subscription of a browser of a reviewer; that of another is left
// as it is.
func (p *Push) Unsubscribe(ctx context.Context, reviewer, id string) error {
	named := func(s reviewers.Subscription) bool { return s.ID == id }
	if !slices.ContainsFunc(p.subscriptions.of(reviewer), named) {
		return nil
	}
	return p.subscriptions.remove(ctx, id)
}
