package webpush

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify"
)

const (
	firstPause   = 2 * time.Second // of a push service that failed
	maxPause     = time.Minute
	maxRetry     = 10 * time.Minute // what a service may ask for itself
	maxDelivered = 4096             // deliveries whose receivers are remembered
)

type sender struct {
	client   *http.Client
	contact  string
	private  bool   // push services on private addresses are permitted
	public   string // key, base64url
	secret   string // key, base64url
	services *services
	log      *slog.Logger
}

func newSender(o Options, key *ecdh.PrivateKey) *sender {
	return &sender{
		client: newClient(o.Private), contact: o.Contact, private: o.Private, services: newServices(), log: o.Log,
		secret: base64.RawURLEncoding.EncodeToString(key.Bytes()),
		public: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()),
	}
}

// send sends one message to one browser. It returns an error where another attempt may
// help, and logs one that does not. gone reports whether the push service no longer knows
// the subscription.
func (p *sender) send(ctx context.Context, s reviewers.Subscription, m push) (gone bool, err error) {
	host := hostOf(s.Endpoint)
	if until := p.services.pausedUntil(host, s.ID); !until.IsZero() {
		return false, fmt.Errorf("the push service %s is paused until %s", host, until.UTC().Format(time.TimeOnly))
	}
	if err := checkEndpoint(s.Endpoint, p.private); err != nil {
		p.log.Error("push notification skipped: push service address not allowed", "service", host, "reviewer", s.Reviewer, "error", err)
		return false, nil
	}
	payload, err := json.Marshal(m.message)
	if err != nil {
		return false, fmt.Errorf("encode a push message: %w", err)
	}
	response, err := webpush.SendNotificationWithContext(ctx, payload,
		&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256DH}},
		&webpush.Options{
			HTTPClient: p.client, Subscriber: p.contact, TTL: int(math.Ceil(m.ttl.Seconds())), Topic: m.message.ID, Urgency: m.urgency,
			VAPIDPublicKey: p.public, VAPIDPrivateKey: p.secret,
		})
	if err != nil {
		if unsent := (*url.Error)(nil); errors.As(err, &unsent) {
			err = unsent.Err // the URL is the browser's secret
		}
		p.services.failed(host, 0)
		return false, fmt.Errorf("push to %s: %w", host, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be used again
	return p.classify(s, host, response)
}

func (p *sender) classify(s reviewers.Subscription, host string, response *http.Response) (gone bool, err error) {
	switch code := response.StatusCode; {
	case code/100 == 2:
		p.services.answered(host, s.ID)
		return false, nil
	case code == http.StatusNotFound || code == http.StatusGone:
		p.services.answered(host, s.ID)
		return true, nil
	case code == http.StatusTooManyRequests || code/100 == 5:
		paused := host
		if code == http.StatusTooManyRequests {
			paused = s.ID // a service counts by browser; the others are not limited
		}
		p.services.failed(paused, notify.ParseRetryAfter(response.Header.Get("Retry-After"), maxRetry))
		return false, fmt.Errorf("push to %s: it answers %d", host, code)
	default:
		p.services.answered(host, s.ID)
		p.log.Error("a push service refused a notification", "service", host, "reviewer", s.Reviewer, "status", code)
		return false, nil
	}
}

func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "invalid URL"
	}
	return u.Host
}

// services remembers which push services have failed lately, by their hosts, and which
// browsers they limit for now, by the ids of the subscriptions: nothing is sent to them for
// a while, so that no delivery waits for them each time.
type services struct {
	mu     sync.Mutex
	pauses map[string]pause
}

type pause struct {
	until    time.Time
	failures int
}

func newServices() *services { return &services{pauses: map[string]pause{}} }

// pausedUntil returns until when any of them is paused, zero if none is.
func (s *services) pausedUntil(names ...string) (until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if r := s.pauses[name]; time.Now().Before(r.until) && r.until.After(until) {
			until = r.until
		}
	}
	return until
}

// failed pauses one, for as long as it asks for or else longer each time.
func (s *services) failed(name string, asked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.pauses[name]
	doubled := min(firstPause<<min(r.failures, 10), maxPause)
	s.pauses[name] = pause{until: time.Now().Add(max(doubled, asked)), failures: r.failures + 1}
}

func (s *services) answered(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.pauses, name)
	}
}

// delivered remembers the recipients of the latest deliveries.
type delivered struct {
	mu     sync.Mutex
	to     map[string]map[string]bool // ids of subscriptions, by delivery
	oldest []string                   // deliveries, oldest first
}

func newDelivered() *delivered { return &delivered{to: map[string]map[string]bool{}} }

func (d *delivered) has(delivery, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.to[delivery][id]
}

func (d *delivered) add(delivery, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to[delivery] == nil {
		d.to[delivery] = map[string]bool{}
		if d.oldest = append(d.oldest, delivery); len(d.oldest) > maxDelivered {
			delete(d.to, d.oldest[0])
			d.oldest = d.oldest[1:]
		}
	}
	d.to[delivery][id] = true
}
