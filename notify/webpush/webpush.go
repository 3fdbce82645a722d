// Package webpush tells reviewers of requests in the browsers in which they want to
// be told, on their phones too, by Web Push: RFC 8030, with payloads encrypted for
// the browser (RFC 8291) and signed requests (RFC 8292).
//
// A browser's push service is a third party, and a lock screen shows what comes:
// what is told is the tool, the agent and the risk, and of the arguments nothing,
// unless the operator wants it otherwise. Each reviewer is told of what they may
// approve. What has been told is replaced once the request has ended.
package webpush

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// maxBrowsers is how many browsers of one reviewer are told; the oldest is forgotten
// when there is one more.
const maxBrowsers = 20

// Store keeps subscriptions, and the key that push services know heldcall by.
type Store interface {
	PushKey(ctx context.Context, fresh []byte) ([]byte, error)
	PutSubscription(ctx context.Context, s reviewers.Subscription) error
	DeleteSubscription(ctx context.Context, id string) error
	WatchSubscriptions(ctx context.Context, changed func(reviewers.Subscription), gone func(id string), loaded func()) error
}

// Gate is what this package needs of [gate.Gate].
type Gate interface {
	CanApprove(r *approvals.Request, d approvals.Decision) bool
}

// Options are what a [Push] is made of.
type Options struct {
	Store Store
	Gate  Gate
	// Reviewer knows the reviewers of the configuration, and HoldsToken which of them
	// prove who they are by a token. Who has none is told while their sign-in holds; by
	// the rights that they had then, where the configuration does not name them and
	// Rights are the same: all of the configuration that gives rights.
	Reviewer   func(name string) (reviewers.Reviewer, bool)
	HoldsToken func(name string) bool
	Rights     string
	// Contact is how push services reach the operator: an e-mail address or an https
	// URL.
	Contact string
	// Preview has the arguments shown, as lists show them.
	Preview bool
	// Private permits push services on private and loopback addresses, and http.
	Private bool
	Log     *slog.Logger // nil: discards
}

// Push is the channel. It is safe for concurrent use.
type Push struct {
	store    Store
	gate     Gate
	reviewer func(name string) (reviewers.Reviewer, bool)
	token    func(name string) bool
	rights   string
	contact  string
	preview  bool
	private  bool
	log      *slog.Logger
	client   *http.Client
	public   string // key, base64url
	secret   string // key, base64url
	services *services
	given    *given

	loaded chan struct{}

	mu   sync.RWMutex
	byID map[string]reviewers.Subscription
}

// Open reads or makes the key. [Push.Run] must run for anybody to be told.
func Open(ctx context.Context, o Options) (*Push, error) {
	p := &Push{
		store: o.Store, gate: o.Gate, reviewer: o.Reviewer, token: o.HoldsToken, rights: o.Rights, contact: o.Contact, preview: o.Preview, private: o.Private, log: o.Log,
		client: newClient(o.Private), services: newServices(), given: newGiven(), loaded: make(chan struct{}), byID: map[string]reviewers.Subscription{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	fresh, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for Web Push: %w", err)
	}
	kept, err := p.store.PushKey(ctx, fresh.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read the key for Web Push: %w", err)
	}
	key, err := ecdh.P256().NewPrivateKey(kept)
	if err != nil {
		return nil, fmt.Errorf("the recorded key for Web Push is not one: %w", err)
	}
	p.secret = base64.RawURLEncoding.EncodeToString(key.Bytes())
	p.public = base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())
	return p, nil
}

// Run keeps to what is recorded of subscriptions until the context ends.
func (p *Push) Run(ctx context.Context) error {
	return p.store.WatchSubscriptions(ctx, p.keep, p.forget, func() { close(p.loaded) })
}

// Ready is closed once what was recorded before is known.
func (p *Push) Ready() <-chan struct{} { return p.loaded }

// PublicKey is what browsers subscribe with: an uncompressed point in base64url.
func (p *Push) PublicKey() string { return p.public }

// Subscribe has a browser told of what its reviewer may approve, from now on. signed
// is nil for a reviewer who has not signed in. It fails with [*approvals.InvalidError]
// or [approvals.ErrStoreUnavailable]. An endpoint has one reviewer: the last who
// subscribed in the browser.
func (p *Push) Subscribe(ctx context.Context, reviewer string, signed *reviewers.SignedIn, endpoint, p256dh, auth string) (reviewers.Subscription, error) {
	s, err := reviewers.NewSubscription(reviewer, endpoint, p256dh, auth, time.Now())
	if signed != nil {
		s.Signed = &reviewers.SignedIn{Who: signed.Who, Until: signed.Until, Under: p.rights}
	}
	if err == nil {
		err = checkEndpoint(endpoint, p.private)
	}
	if err != nil {
		return s, &approvals.InvalidError{Field: "endpoint", Reason: err.Error()}
	}
	if err := p.store.PutSubscription(ctx, s); err != nil {
		return s, err
	}
	p.keep(s)
	own := p.Subscriptions(reviewer)
	for _, old := range own[min(maxBrowsers, len(own)):] {
		err = errors.Join(err, p.drop(ctx, old.ID))
	}
	return s, err
}

// Subscriptions are those of a reviewer, the latest first.
func (p *Push) Subscriptions(reviewer string) []reviewers.Subscription {
	own := []reviewers.Subscription{}
	p.mu.RLock()
	for _, s := range p.byID {
		if s.Reviewer == reviewer {
			own = append(own, s)
		}
	}
	p.mu.RUnlock()
	sortLatestFirst(own)
	return own
}

// Unsubscribe has a browser of a reviewer told nothing more; that of another is
// left as it is.
func (p *Push) Unsubscribe(ctx context.Context, reviewer, id string) error {
	p.mu.RLock()
	s, known := p.byID[id]
	p.mu.RUnlock()
	if !known || s.Reviewer != reviewer {
		return nil
	}
	return p.drop(ctx, id)
}

// drop forgets a subscription for good.
func (p *Push) drop(ctx context.Context, id string) error {
	if err := p.store.DeleteSubscription(ctx, id); err != nil {
		return err
	}
	p.forget(id)
	return nil
}

func (p *Push) keep(s reviewers.Subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[s.ID] = s
}

func (p *Push) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byID, id)
}
