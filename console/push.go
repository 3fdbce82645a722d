package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Push is what the console needs of the channel to reviewers' browsers.
type Push interface {
	PublicKey() string
	Subscribe(ctx context.Context, reviewer string, signed *reviewers.SignedIn, endpoint, p256dh, auth string) (reviewers.Subscription, error)
	Subscriptions(reviewer string) []reviewers.Subscription
	Unsubscribe(ctx context.Context, reviewer, id string) error
}

// pushReply is what a browser needs to subscribe, and which of the sender's have.
type pushReply struct {
	PublicKey string        `json:"public_key"` // as applicationServerKey, base64url
	Browsers  []pushBrowser `json:"browsers"`   // the latest first
}

// pushBrowser is a subscription without its secrets.
type pushBrowser struct {
	ID        string    `json:"id"`
	Service   string    `json:"service"` // host of the push service
	CreatedAt time.Time `json:"created_at"`
}

func pushBrowserOf(s reviewers.Subscription) pushBrowser {
	b := pushBrowser{ID: s.ID, CreatedAt: s.CreatedAt}
	if u, err := url.Parse(s.Endpoint); err == nil {
		b.Service = u.Host
	}
	return b
}

type pushHandlers struct{ push Push }

func (h pushHandlers) show(w http.ResponseWriter, r *http.Request) error {
	reply := pushReply{PublicKey: h.push.PublicKey(), Browsers: []pushBrowser{}}
	for _, s := range h.push.Subscriptions(reviewerOf(r).Name) {
		reply.Browsers = append(reply.Browsers, pushBrowserOf(s))
	}
	return answer(w, reply)
}

type subscriptionPayload struct {
	Endpoint       string   `json:"endpoint"`
	ExpirationTime *float64 `json:"expirationTime"` // not used: push services report the end of a subscription
	Keys           struct {
		P256DH string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

func (h pushHandlers) subscribe(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[subscriptionPayload](w, r, "subscription", "")
	if err != nil {
		return err
	}
	who := reviewerOf(r)
	var signed *reviewers.SignedIn
	if who.Session != nil {
		signed = &reviewers.SignedIn{Who: who.Reviewer, Until: who.Session.Expires}
	}
	s, err := h.push.Subscribe(r.Context(), who.Name, signed, given.Endpoint, given.Keys.P256DH, given.Keys.Auth)
	if err != nil {
		return fmt.Errorf("subscribe a browser: %w", err)
	}
	return answer(w, pushBrowserOf(s))
}

// unsubscribe ends the subscription in the path. One that is not there, or is
// another's, is left as it is.
func (h pushHandlers) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	if err := h.push.Unsubscribe(r.Context(), reviewerOf(r).Name, r.PathValue("id")); err != nil {
		return fmt.Errorf("unsubscribe a browser: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
