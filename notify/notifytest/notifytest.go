// Package notifytest tests the contract of channels: [Run] tests a channel with a
// service that accepts, limits, fails, refuses and hangs.
package notifytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// Answer is how a service answers the next requests.
type Answer int

// The answers of a service.
const (
	Takes   Answer = iota // it accepts the message
	Limits                // it asks for a pause of [LimitedFor]
	Fails                 // a temporary error, such as 500
	Refuses               // a permanent error, such as 400
	Hangs                 // it does not answer before the request ends
)

// LimitedFor is the pause that a service with [Limits] asks for.
const LimitedFor = 7 * time.Second

// Service is a channel with the service at its other end.
type Service interface {
	Channel() notify.Channel
	// Answers sets how the service answers from now on.
	Answers(Answer)
	// Wire is all that has reached the service, one text a request: the text for
	// people, or the body of the request.
	Wire() []string
	// Secrets must be in no error.
	Secrets() []string
}

// argument is in the arguments of every request here, and must be in no error.
const argument = "opensesame-argument"

// Request is one that waits for people, the nth of its turn.
func Request(nth int) approvals.Request {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return approvals.Request{
		ID: fmt.Sprintf("01KAKZ000000000000000000%02d", nth), Kind: approvals.KindPermission, Status: approvals.StatusPending,
		Principal: approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"},
		SessionID: "s-1", RunID: "r-1", TurnID: "t-1", Dialect: "chat", Model: "m", ToolCallID: fmt.Sprintf("call_%d", nth),
		ToolName: "bash", Arguments: json.RawMessage(`{"command":"` + argument + `"}`), Resource: argument, ArgsPreview: argument,
		Title: approvals.DefaultTitle("bash"), RiskLevel: approvals.RiskHigh, Reason: "a command", Rule: "policy.yaml:3",
		CreatedAt: at, ExpiresAt: at.Add(5 * time.Minute), OnTimeout: approvals.OnTimeoutDeny,
		SuggestedPatterns: []string{}, Reviewers: []string{}, Decisions: []approvals.Decision{},
	}
}

// Delivery is that of requests that have just been asked.
func Delivery(requests ...approvals.Request) notify.Delivery {
	d := notify.Delivery{ID: "card-1", Requests: requests, Since: requests[0].CreatedAt}
	for i := range requests {
		d.Events = append(d.Events, requests[i].RequiredEvent())
	}
	return d
}

// Decided is a request that a reviewer has denied.
func Decided(r approvals.Request, by string) approvals.Request {
	at := r.CreatedAt.Add(time.Minute)
	r.Status = approvals.StatusDenied
	r.Decisions = append(r.Decisions, approvals.Decision{RequestID: r.ID, Action: approvals.ActionDeny, ReviewerID: by, Channel: "rest", DecidedAt: at})
	r.Details.EndedAt = &at
	return r
}

// Run tries a channel. start makes a new one, with a service of its own, and ends
// both with the test.
func Run(t *testing.T, start func(t *testing.T) Service) {
	t.Run("posts", func(t *testing.T) { posts(t, start(t)) })
	t.Run("Finding 27: shows the title of the rule", func(t *testing.T) { titled(t, start(t)) })
	t.Run("Finding 33: marks long runs of spaces", func(t *testing.T) { pushed(t, start(t)) })
	t.Run("updates", func(t *testing.T) { updates(t, start(t)) })
	t.Run("classifies errors as permanent or temporary", func(t *testing.T) { verdicts(t, start(t)) })
	t.Run("ends with its context", func(t *testing.T) { hangs(t, start(t)) })
	t.Run("takes hostile texts", func(t *testing.T) { hostile(t, start(t)) })
	t.Run("several at once", func(t *testing.T) { several(t, start(t)) })
}

func posts(t *testing.T, s Service) {
	ref, err := s.Channel().Post(t.Context(), Delivery(Request(1)))
	if err != nil || ref == "" {
		t.Fatalf("posted as %q: %v", ref, err)
	}
	if wire := strings.Join(s.Wire(), "\n"); !strings.Contains(wire, "bash") {
		t.Errorf("the tool is not in the request to the service: %s", wire)
	}
}

func titled(t *testing.T, s Service) {
	r, other := Request(1), Request(2)
	r.Title, other.Title = "Delete the table users", "Send 5 to bob"
	for _, d := range []notify.Delivery{Delivery(r), Delivery(r, other)} {
		before := len(s.Wire())
		if _, err := s.Channel().Post(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if wire := strings.Join(s.Wire()[before:], "\n"); !strings.Contains(wire, "Delete the table users") {
			t.Errorf("%d calls without the title: %s", len(d.Requests), wire)
		}
	}
}

// pushed sends arguments that long runs of spaces would push out of view. JSON for
// programs is exact.
func pushed(t *testing.T, s Service) {
	r := Request(1)
	r.Arguments = json.RawMessage(`{"command":"ls` + strings.Repeat(" ", 1500) + `; rm -rf /"}`)
	if _, err := s.Channel().Post(t.Context(), Delivery(r)); err != nil {
		t.Fatal(err)
	}
	wire := s.Wire()
	if last := wire[len(wire)-1]; !strings.Contains(last, "⟨1500 spaces⟩; rm -rf /") && !strings.Contains(last, string(r.Arguments)) {
		t.Errorf("what follows the spaces is out of view: %s", last)
	}
}

func updates(t *testing.T, s Service) {
	updater, ok := s.Channel().(notify.Updater)
	if !ok {
		return // it announces new requests only
	}
	d := Delivery(Request(1))
	ref, err := s.Channel().Post(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.Wire())
	d.Requests[0] = Decided(d.Requests[0], "bob-the-reviewer")
	if ref, err = updater.Update(t.Context(), d, ref); err != nil || ref == "" {
		t.Fatalf("updated as %q: %v", ref, err)
	}
	if wire := strings.Join(s.Wire()[before:], "\n"); !strings.Contains(wire, "bob-the-reviewer") && len(d.Events) == 0 {
		t.Errorf("the reviewer is not in the request to the service: %s", wire)
	}
	if len(s.Wire()) == before {
		t.Error("nothing reached the service")
	}
}

func verdicts(t *testing.T, s Service) {
	var permanent *notify.PermanentError
	var after *notify.RetryAfterError
	for _, one := range []struct {
		name   string
		answer Answer
		right  func(error) bool
	}{
		{"limited", Limits, func(err error) bool { return errors.As(err, &after) && after.After == LimitedFor }},
		{"failing", Fails, func(err error) bool { return err != nil && !errors.As(err, &permanent) }},
		{"refused", Refuses, func(err error) bool { return errors.As(err, &permanent) }},
	} {
		s.Answers(one.answer)
		_, err := s.Channel().Post(t.Context(), Delivery(Request(1)))
		if !one.right(err) {
			t.Errorf("%s: the error is %T: %v", one.name, err, err)
		}
		discreet(t, s, err)
	}
}

// discreet fails the test if an error contains a secret.
func discreet(t *testing.T, s Service, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, secret := range append(s.Secrets(), argument) {
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("an error contains %q: %v", secret, err)
		}
	}
}

func hangs(t *testing.T, s Service) {
	s.Answers(Hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Channel().Post(ctx, Delivery(Request(1)))
	var permanent *notify.PermanentError
	if err == nil || errors.As(err, &permanent) {
		t.Errorf("a service that hangs: %v", err)
	}
	discreet(t, s, err)
}

// hostileTexts are texts that a model may write anywhere.
var hostileTexts = []string{
	"", "<!channel> <@U123> <https://evil.example|harmless>", "```\n*bold* _it_ ~no~ `x`", "\u202egnp.exe\u2066 \u200b\ufeff\x00\x1b[31m",
	"@everyone @here https://evil.example", strings.Repeat("x", 200_000), strings.Repeat("\U0001F469\u200d", 5_000), "\xff\xfe", "line\nline\r\nline", "{{.}} ${x} %s &amp; <b>",
}

func hostile(t *testing.T, s Service) {
	for i, text := range hostileTexts {
		r := Request(1)
		r.ToolName, r.Title, r.Reason, r.Resource, r.ArgsPreview, r.RunID, r.Principal.User = text, text, text, text, text, text, text
		r.Context = approvals.Context{LastUserMessage: text, AssistantText: text}
		if quoted, err := json.Marshal(map[string]string{"command": text}); err == nil {
			r.Arguments = quoted
		}
		r.Details.Flags, r.SuggestedPatterns = []string{text}, []string{text}
		if _, err := s.Channel().Post(t.Context(), Delivery(r)); err != nil {
			t.Errorf("hostile text %d: %v", i, err)
		}
	}
}

func several(t *testing.T, s Service) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			d := Delivery(Request(i))
			d.ID = fmt.Sprintf("card-%d", i)
			if _, err := s.Channel().Post(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
