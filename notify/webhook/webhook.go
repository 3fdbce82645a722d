// Package webhook is the channel to programs: it announces requests over HTTP, by the Standard
// Webhooks specification. Every event is one POST, signed, numbered and tried again until it is
// accepted. The receiver of a new request can decide it at a signed URL in the payload,
// once: see [Links].
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

const (
	// timeout bounds one POST.
	timeout = 10 * time.Second
	// maxAnswer is how much of an answer is read, so that the connection can be kept.
	maxAnswer = 64 << 10
	// maxRetryAfter bounds how long a receiver can make the channel pause.
	maxRetryAfter = 5 * time.Minute
	secretPrefix  = "whsec_"
)

// Options is what a [Channel] is made of.
type Options struct {
	URL     string
	Secrets []string          // whsec_ and base64, the current one first: each signs
	Inbox   func() string     // URL of the console
	Links   *Links            // nil: the payload carries no URL that decides
	Client  http.RoundTripper // nil: one of its own
	Log     *slog.Logger
}

// Channel posts events to one URL.
type Channel struct {
	url   string
	keys  [][]byte
	inbox func() string
	links *Links
	http  *http.Client
	log   *slog.Logger
	gone  atomic.Bool // the receiver has unsubscribed
}

// New makes a channel. A secret that is not one is an error, which does not quote it.
func New(o Options) (*Channel, error) {
	c := &Channel{url: o.URL, inbox: o.Inbox, links: o.Links, log: o.Log}
	for i, secret := range o.Secrets {
		key, err := ParseSecret(secret)
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
		c.keys = append(c.keys, key)
	}
	if o.Client == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 16
		o.Client = own
	}
	c.http = &http.Client{
		Transport: o.Client, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// ParseSecret reads a signing secret of the specification: whsec_ and 24 to 64 bytes
// in base64.
func ParseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("is not whsec_ and 24 to 64 bytes in base64; make one: echo whsec_$(openssl rand -base64 32)")
	}
	return key, nil
}

type message struct {
	Type      approvals.EventType `json:"type"`
	Timestamp time.Time           `json:"timestamp"`
	Data      data                `json:"data"`
}

type data struct {
	Event   approvals.Event   `json:"event"`
	Request approvals.Request `json:"request"` // in its state when the message is made
	// InboxURL is where people decide.
	InboxURL string `json:"inbox_url"`
	// DecideURL decides, once, for the reviewer that the webhook acts for.
	DecideURL string `json:"decide_url,omitempty"`
}

// Post sends the events of a request, one after the other.
func (c *Channel) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	return c.send(ctx, d)
}

// Update sends those that came since.
func (c *Channel) Update(ctx context.Context, d notify.Delivery, _ notify.Ref) (notify.Ref, error) {
	return c.send(ctx, d)
}

// send continues after a message that is refused for good, which is left out. It ends with
// the first that fails and may still be accepted, so that messages arrive in order.
func (c *Channel) send(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	var refused []error
	for i := range d.Events {
		e := &d.Events[i]
		for _, r := range d.Requests {
			if r.ID != e.RequestID || !c.concerns(&r) {
				continue
			}
			body, err := c.body(ctx, *e, r)
			if err == nil {
				err = c.post(ctx, e.ID, body)
			}
			if err != nil && !errors.As(err, new(*notify.PermanentError)) {
				return "", err
			}
			refused = append(refused, err)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return "", err
	}
	return notify.Ref(d.ID), nil
}

// concerns reports whether a request is of a tenant of the reviewer that the webhook acts for, if any.
func (c *Channel) concerns(r *approvals.Request) bool {
	if c.links == nil {
		return true
	}
	who, _ := c.links.o.Reviewer()
	return who.Tenants.Has(r.Principal.Tenant)
}

func (c *Channel) body(ctx context.Context, e approvals.Event, r approvals.Request) ([]byte, error) {
	m := message{Type: e.Type, Timestamp: e.Time, Data: data{Event: e, Request: r, InboxURL: notify.InboxURL(c.inbox(), r.ID)}}
	asks := e.Type == approvals.EventApprovalRequired || e.Type == approvals.EventApprovalEscalated
	if c.links != nil && asks && !r.Status.Final() {
		link, err := c.links.URL(ctx, strings.TrimRight(c.inbox(), "/"), r)
		if err != nil {
			return nil, err
		}
		m.Data.DecideURL = link
	}
	body, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true)) // a model may write anything
	if err != nil {
		return nil, notify.Permanent(errors.New("the message cannot be written as JSON"))
	}
	return body, nil
}

// post sends one message. Its id is the same at each attempt, so that receivers can
// drop duplicates.
func (c *Channel) post(ctx context.Context, id string, body []byte) error {
	if c.gone.Load() {
		return notify.Permanent(errors.New("the receiver has unsubscribed (410)"))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return notify.Permanent(errors.New("the URL of the webhook is not valid"))
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "heldcall-webhook")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", now)
	req.Header.Set("webhook-signature", c.sign(id, now, body))
	resp, err := c.http.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	return c.classify(resp)
}

// sign is the signature by each secret: while they change, receivers accept either.
func (c *Channel) sign(id, timestamp string, body []byte) string {
	var signatures []string
	for _, key := range c.keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}

// withoutURL is the error of a client without the URL, which may hold a secret.
func withoutURL(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("the receiver cannot be reached: %w", err)
}

// classify returns the error of an answer, nil for success. Redirects are not followed: an
// operator who wants another address changes the configuration.
func (c *Channel) classify(resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	err := fmt.Errorf("the receiver answered %d", resp.StatusCode)
	switch resp.StatusCode {
	case http.StatusGone:
		if !c.gone.Swap(true) {
			c.log.Error("the receiver has unsubscribed (410): nothing is sent to it until heldcall restarts")
		}
		return notify.Permanent(err)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := notify.ParseRetryAfter(resp.Header.Get("Retry-After"), maxRetryAfter); after > 0 {
			return notify.RetryAfter(err, after)
		}
	}
	if notify.IsPermanent(resp.StatusCode) {
		return notify.Permanent(err)
	}
	return err
}
