package webpush

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

const (
	firstRest = 2 * time.Second // of a push service that failed
	maxRest   = time.Minute
	maxRetry  = 10 * time.Minute // what a service may ask for itself
	maxGiven  = 4096             // deliveries whose receivers are remembered
)

// send pushes one message to one browser. The error says that another attempt may
// help; what never will is logged, and a subscription that its push service no longer
// knows is forgotten.
func (p *Push) send(ctx context.Context, s reviewers.Subscription, m push) error {
	host := hostOf(s.Endpoint)
	if until := p.services.resting(host, s.ID); !until.IsZero() {
		return fmt.Errorf("the push service %s is not asked before %s", host, until.UTC().Format(time.TimeOnly))
	}
	if err := checkEndpoint(s.Endpoint, p.private); err != nil {
		p.log.Error("push notification skipped: push service address not allowed", "service", host, "reviewer", s.Reviewer, "error", err)
		return nil
	}
	payload, err := json.Marshal(m.message)
	if err != nil {
		return fmt.Errorf("encode a push message: %w", err)
	}
	response, err := webpush.SendNotificationWithContext(ctx, payload,
		&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{Auth: s.Auth, P256dh: s.P256DH}},
		&webpush.Options{
			HTTPClient: p.client, Subscriber: p.contact, TTL: int(math.Ceil(m.ttl.Seconds())), Topic: m.message.ID, Urgency: m.urgency,
			VAPIDPublicKey: p.key.public, VAPIDPrivateKey: p.key.secret,
		})
	if err != nil {
		if unsent := (*url.Error)(nil); errors.As(err, &unsent) {
			err = unsent.Err // the URL is the browser's secret
		}
		p.services.failed(host, 0)
		return fmt.Errorf("push to %s: %w", host, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be used again
	return p.judge(ctx, s, host, response)
}

// judge says what an answer of a push service means.
func (p *Push) judge(ctx context.Context, s reviewers.Subscription, host string, response *http.Response) error {
	switch code := response.StatusCode; {
	case code/100 == 2:
		p.services.answered(host, s.ID)
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		p.services.answered(host, s.ID)
		p.log.Info("a browser is no longer subscribed", "service", host, "reviewer", s.Reviewer)
		if err := p.drop(ctx, s.ID); err != nil {
			p.log.Warn("an ended subscription could not be removed; the next push tries again", "error", err)
		}
		return nil
	case code == http.StatusTooManyRequests || code/100 == 5:
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil || seconds < 0 {
			seconds = 0
		}
		rests := host
		if code == http.StatusTooManyRequests {
			rests = s.ID // a service counts what one browser is sent; the others are none the worse for it
		}
		p.services.failed(rests, min(time.Duration(seconds)*time.Second, maxRetry))
		return fmt.Errorf("push to %s: it answers %d", host, code)
	default:
		p.services.answered(host, s.ID)
		p.log.Error("a push service refuses to tell a browser", "service", host, "reviewer", s.Reviewer, "status", code)
		return nil
	}
}

// hostOf is the push service of an endpoint, without the part that is secret.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "invalid URL"
	}
	return u.Host
}

// services remembers which push services have failed lately, by their hosts, and which
// browsers they want to send no more to for now, by the ids of the subscriptions: they
// are left alone for a while, so that nobody waits for them each time.
type services struct {
	mu    sync.Mutex
	rests map[string]rest
}

type rest struct {
	until    time.Time
	failures int
}

func newServices() *services { return &services{rests: map[string]rest{}} }

// resting is until when any of them is left alone, zero if none is.
func (s *services) resting(names ...string) (until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if r := s.rests[name]; time.Now().Before(r.until) && r.until.After(until) {
			until = r.until
		}
	}
	return until
}

// failed leaves one alone, for as long as it asked for or else longer each time.
func (s *services) failed(name string, asked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rests[name]
	pause := min(firstRest<<min(r.failures, 10), maxRest)
	s.rests[name] = rest{until: time.Now().Add(max(pause, asked)), failures: r.failures + 1}
}

func (s *services) answered(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.rests, name)
	}
}

// given remembers who has got the latest deliveries.
type given struct {
	mu     sync.Mutex
	to     map[string]map[string]bool // ids of subscriptions, by delivery
	oldest []string                   // deliveries, oldest first
}

func newGiven() *given { return &given{to: map[string]map[string]bool{}} }

func (g *given) has(delivery, id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.to[delivery][id]
}

func (g *given) add(delivery, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.to[delivery] == nil {
		g.to[delivery] = map[string]bool{}
		if g.oldest = append(g.oldest, delivery); len(g.oldest) > maxGiven {
			delete(g.to, g.oldest[0])
			g.oldest = g.oldest[1:]
		}
	}
	g.to[delivery][id] = true
}
