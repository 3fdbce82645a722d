package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/internal/fakeslack"
	"github.com/heldcall/heldcall/notify"
)

// load is a gate, and a dispatcher that tells a workspace of its requests.
type load struct {
	workspace
	t    *testing.T
	gate *approvals.Gate
}

func newLoad(t *testing.T, group notify.Group) *load {
	t.Helper()
	l := &load{workspace: newWorkspace(t), t: t}
	s, err := store.Open(context.Background(), store.Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	l.gate = approvals.NewGate(approvals.GateOptions{Store: s})
	d, err := notify.New(notify.Options{Store: s, Requests: l.gate, Channels: []notify.Setup{{Name: "slack", Channel: l.channel, Threads: true, Group: group}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.gate.Run(ctx) })
	<-l.gate.Ready()
	running.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ask opens the request of a turn and returns its id.
func (l *load) ask(n int) string {
	l.t.Helper()
	hold, err := l.gate.Open(l.t.Context(), []approvals.Request{{
		Kind: approvals.KindPermission, Principal: approvals.Principal{Tenant: "acme"}, RunID: fmt.Sprint("run", n), TurnID: fmt.Sprint(n),
		ToolName: "bash", Arguments: json.RawMessage(`{"command":"ls"}`), RiskLevel: approvals.RiskMedium, ExpiresAt: time.Now().Add(time.Hour),
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	return hold.Requests()[0].ID
}

// shown is how often each request is linked on all cards.
func (l *load) shown() map[string]int {
	on := map[string]int{}
	for _, m := range l.Messages() {
		ids := map[string]bool{}
		for _, part := range strings.Split(m.Shown(), "#/requests/")[1:] {
			ids[part[:26]] = true
		}
		for id := range ids {
			on[id]++
		}
	}
	return on
}

func (l *load) until(what string, holds func() bool) {
	l.t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			l.t.Fatalf("waited in vain: %s", what)
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// With 500 requests waiting each new one reaches Slack by itself. The figures are
// told, not judged: see docs/channels.md.
func TestLatencyToTheWire(t *testing.T) {
	l := newLoad(t, notify.Group{})
	for n := range 500 {
		l.ask(n)
	}
	l.until("500 requests are told", func() bool { return len(l.Messages()) == 500 })
	var took []time.Duration
	for n := range 200 {
		began := time.Now()
		id := l.ask(500 + n)
		l.until("request "+id, func() bool { return len(l.Messages()) == 501+n })
		calls := l.Calls()
		took = append(took, calls[len(calls)-1].At.Sub(began))
	}
	slices.Sort(took)
	t.Logf("from the creation of a request to Slack's wire with 500 waiting: p50 %s, p99 %s, most %s", took[100], took[198], took[199])
	if on := l.shown(); len(on) != 700 {
		t.Errorf("%d of 700 requests are shown", len(on))
	}
}

// A thousand requests at once reach a Slack that limits the rate, in groups; each
// stands on one card.
func TestAThousandReachARateLimitedSlack(t *testing.T) {
	l := newLoad(t, notify.Group{Cards: 5, Within: 5 * time.Second})
	var mu sync.Mutex
	var last time.Time
	limited := 0
	l.Server.Answers(func(method string) fakeslack.Answer {
		mu.Lock()
		defer mu.Unlock()
		if method != "chat.postMessage" {
			return fakeslack.Answer{}
		}
		if time.Since(last) < time.Second/4 {
			limited++
			return fakeslack.Answer{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
		}
		last = time.Now()
		return fakeslack.Answer{}
	})
	ids := map[string]bool{}
	began := time.Now()
	for n := range 1000 {
		ids[l.ask(n)] = true
	}
	asked := time.Since(began)
	l.until("1000 requests are told", func() bool { return len(l.shown()) == len(ids) })
	t.Logf("1000 requests, asked within %s, were on %d messages after %s; Slack limited %d calls", asked, len(l.Messages()), time.Since(began), limited)
	for id, cards := range l.shown() {
		if cards != 1 || !ids[id] {
			t.Errorf("request %s is on %d cards", id, cards)
		}
	}
}
