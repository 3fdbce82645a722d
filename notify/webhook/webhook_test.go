package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

const (
	current  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	previous = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	soon     = 90 * time.Second
)

// receiver is the other end of a webhook.
type receiver struct {
	server  *httptest.Server
	channel *Channel

	mu      sync.Mutex
	wire    []string
	headers []http.Header
	answers func(nth int) int // status of the nth POST, from 0; 0: no answer
}

func newReceiver(t *testing.T, links *Links) *receiver {
	t.Helper()
	r := &receiver{answers: func(int) int { return http.StatusNoContent }}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	var err error
	r.channel, err = New(Options{
		URL: r.server.URL + "/hook?token=token-in-the-url", Secrets: []string{current, previous}, Links: links,
		Inbox: func() string { return "https://heldcall.example" }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.channel.http.CloseIdleConnections)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.wire, r.headers = append(r.wire, string(body)), append(r.headers, req.Header.Clone())
	status := r.answers(len(r.wire) - 1)
	r.mu.Unlock()
	switch status {
	case 0:
		<-req.Context().Done()
		return
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "7")
	case http.StatusFound:
		w.Header().Set("Location", r.server.URL+"/elsewhere")
	}
	w.WriteHeader(status)
}

func (r *receiver) Channel() notify.Channel { return r.channel }

func (r *receiver) Wire() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.wire...)
}

func (r *receiver) Secrets() []string { return []string{"token-in-the-url", current, previous} }

func (r *receiver) Answers(a notifytest.Answer) {
	status := map[notifytest.Answer]int{
		notifytest.Takes: http.StatusOK, notifytest.Limits: http.StatusTooManyRequests, notifytest.Fails: http.StatusInternalServerError,
		notifytest.Refuses: http.StatusBadRequest, notifytest.Hangs: 0,
	}[a]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = func(int) int { return status }
}

func TestChannelDoesWhatEveryChannelDoes(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) notifytest.Service { return newReceiver(t, nil) })
}

// The library of the specification verifies messages with every secret, and with no
// other.
func TestMessagesVerifyByTheSpecificationsLibrary(t *testing.T) {
	r := newReceiver(t, nil)
	d := notifytest.Delivery(notifytest.Request(1))
	if _, err := r.channel.Post(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	body, header := []byte(r.wire[0]), r.headers[0]
	verify := func(secret string, body []byte, header http.Header) error {
		lib, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return lib.Verify(body, header)
	}
	for _, secret := range []string{current, previous} {
		if err := verify(secret, body, header); err != nil {
			t.Errorf("with a secret of the webhook: %v", err)
		}
	}
	if verify("whsec_"+strings.Repeat("QUJD", 10), body, header) == nil {
		t.Error("a secret of somebody else verifies")
	}
	if verify(current, bytes.Replace(body, []byte("bash"), []byte("rash"), 1), header) == nil {
		t.Error("a changed message verifies")
	}
	for name, value := range map[string]string{"webhook-id": "other", "webhook-timestamp": fmt.Sprint(time.Now().Add(-time.Hour).Unix())} {
		changed := header.Clone()
		changed.Set(name, value)
		if verify(current, body, changed) == nil {
			t.Errorf("a message with another %s verifies", name)
		}
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.Type != approvals.EventApprovalRequired || m.Data.Request.ToolName != "bash" || header.Get("webhook-id") != d.Events[0].ID {
		t.Errorf("the message %q is %s about %s: %v", header.Get("webhook-id"), m.Type, m.Data.Request.ToolName, err)
	}
}

func TestRedirectsAreNotFollowedAndGoneIsForGood(t *testing.T) {
	r := newReceiver(t, nil)
	d := notifytest.Delivery(notifytest.Request(1))
	var permanent *notify.PermanentError
	r.answers = func(int) int { return http.StatusFound }
	if _, err := r.channel.Post(t.Context(), d); err == nil || errors.As(err, &permanent) || len(r.Wire()) != 1 {
		t.Errorf("a redirect: %v after %d requests", err, len(r.Wire()))
	}
	r.answers = func(int) int { return http.StatusGone }
	for range 2 {
		if _, err := r.channel.Post(t.Context(), d); !errors.As(err, &permanent) {
			t.Errorf("gone: %v", err)
		}
	}
	if n := len(r.Wire()); n != 2 {
		t.Errorf("%d requests reached a receiver that is gone since the second", n)
	}
}

// Arguments can make a message too large for its receiver: later messages are sent
// nevertheless.
func TestEventsAfterARefusedOneAreSent(t *testing.T) {
	r := newReceiver(t, nil)
	d := notifytest.Delivery(notifytest.Request(1))
	d.Events = append(d.Events, d.Events[0], d.Events[0])
	d.Events[1].ID, d.Events[2].ID = "second", "third"
	var permanent *notify.PermanentError
	r.answers = func(nth int) int { return []int{http.StatusRequestEntityTooLarge, http.StatusOK, http.StatusOK}[nth] }
	if _, err := r.channel.Post(t.Context(), d); !errors.As(err, &permanent) || len(r.Wire()) != 3 {
		t.Errorf("%d of 3 events were sent: %v", len(r.Wire()), err)
	}
	r.answers = func(nth int) int {
		return []int{http.StatusRequestEntityTooLarge, http.StatusInternalServerError}[nth-3]
	}
	if _, err := r.channel.Post(t.Context(), d); err == nil || errors.As(err, &permanent) || len(r.Wire()) != 5 {
		t.Errorf("what a receiver may still take is given up after %d: %v", len(r.Wire())-3, err)
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	for _, secret := range []string{"", "whsec_", "whsec_c2hvcnQ=", strings.TrimPrefix(current, "whsec_"), "whsec_%%%", "whsec_" + strings.Repeat("QUJD", 30)} {
		if _, err := New(Options{URL: "http://h", Secrets: []string{secret}}); err == nil || (len(secret) > len(secretPrefix) && strings.Contains(err.Error(), secret)) {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

// stage is a real gate.
type stage struct {
	t     *testing.T
	store *memstore.Store
	gate  *gate.Gate
	turns gate.HeldTurns // nil: none
	close func()
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, store: memstore.New(memstore.Options{})}
	s.open()
	t.Cleanup(func() { s.close() })
	return s
}

func (s *stage) open() {
	s.t.Helper()
	s.store = s.store.Reopen()
	s.gate, s.close = notifytest.OpenGate(s.t, s.store, gate.Options{NoSelfApproval: true, Turns: s.turns})
}

func (s *stage) ask(change func(*approvals.Request)) approvals.Request {
	s.t.Helper()
	return s.hold(change).Requests()[0]
}

func (s *stage) hold(change func(*approvals.Request)) *gate.Hold {
	s.t.Helper()
	r := notifytest.Request(1)
	r.ID, r.CreatedAt, r.ExpiresAt = "", time.Time{}, time.Now().Add(time.Hour)
	if change != nil {
		change(&r)
	}
	hold, err := s.gate.Open(s.t.Context(), []approvals.Request{r})
	if err != nil {
		s.t.Fatal(err)
	}
	return hold
}

// A receiver that fails two times of three for each event loses nothing, and what it took it is not
// sent again.
func TestNothingIsLostOverAFlappingReceiver(t *testing.T) {
	const total = 12
	s, r := newStage(t), newReceiver(t, nil)
	taken := map[string]int{}
	tries := map[string]int{}
	r.answers = func(nth int) int {
		id := r.headers[nth].Get("webhook-id")
		if tries[id]++; tries[id]%3 != 0 {
			return http.StatusInternalServerError
		}
		taken[id]++
		return http.StatusOK
	}
	requests, await := notifytest.Swept(s.gate, 1)
	d, err := notify.New(notify.Options{Store: s.store.Deliveries, Requests: requests, Channels: []notify.Setup{{Name: "hook", Channel: r.channel, EachEvent: true}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	defer func() { cancel(); <-ran }()
	await()
	for range total {
		if _, err := s.gate.Decide(t.Context(), approvals.Decision{RequestID: s.ask(nil).ID, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		n := len(taken)
		r.mu.Unlock()
		if n >= total { // at least the decision of an ended request is sent
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events were taken", n)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("event %s was taken %d times", id, times)
		}
	}
}
