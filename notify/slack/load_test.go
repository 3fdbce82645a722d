package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

// load is a gate with a dispatcher that posts its requests to a workspace.
type load struct {
	workspace
	t       *testing.T
	gate    *gate.Gate
	metrics *prometheus.Registry
	log     lines
}

// lines are the lines of a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
	return len(line), nil
}

// last returns the latest n lines.
func (l *lines) last(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all[max(0, len(l.all)-n):], "")
}

func newLoad(t *testing.T, group notify.Group) *load {
	t.Helper()
	l := &load{workspace: newWorkspace(t), t: t, metrics: prometheus.NewRegistry()}
	s := memstore.New(memstore.Options{})
	gate, closed := notifytest.OpenGate(t, s, gate.Options{})
	l.gate = gate
	d, err := notify.New(notify.Options{
		Store: s.Deliveries, Requests: gate, Channels: []notify.Setup{{Name: "slack", Channel: l.channel, Threads: true, Group: group}},
		Log: slog.New(slog.NewTextHandler(&l.log, nil)), Registerer: l.metrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		closed()
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

// state describes how far the deliveries are, and whether they wait or work.
func (l *load) state() string {
	var text strings.Builder
	calls := map[string]int{}
	for _, call := range l.Calls() {
		calls[call.Method]++
	}
	fmt.Fprintf(&text, "%d requests are on %d messages after the calls %v\n", len(l.shown()), len(l.Messages()), calls)
	families, err := l.metrics.Gather()
	for _, family := range families {
		fmt.Fprintln(&text, family)
	}
	fmt.Fprintf(&text, "The last lines of the log:\n%sGoroutines:\n", l.log.last(10))
	if err = errors.Join(err, pprof.Lookup("goroutine").WriteTo(&text, 1)); err != nil {
		l.t.Error(err)
	}
	return text.String()
}

func (l *load) until(what string, holds func() bool) {
	l.t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			l.t.Fatalf("waited in vain: %s\n%s", what, l.state())
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// Each new request reaches Slack on its own card while others are pending. `make bench`
// measures how soon.
func TestEachRequestReachesSlackWhileOthersWait(t *testing.T) {
	const waiting, more = 60, 20
	l := newLoad(t, notify.Group{})
	for n := range waiting {
		l.ask(n)
	}
	l.until("all pending requests are posted", func() bool { return len(l.Messages()) == waiting })
	for n := range more {
		id := l.ask(waiting + n)
		l.until("request "+id, func() bool { return len(l.Messages()) == waiting+n+1 })
	}
	if on := l.shown(); len(on) != waiting+more {
		t.Errorf("%d of %d requests are shown", len(on), waiting+more)
	}
}

var manyRequests = flag.Int("many", 150, "requests at once to a Slack that limits the rate; make load uses 1000")

// Many requests at once reach a Slack that limits the rate, in groups; each is on one
// card.
func TestManyReachARateLimitedSlack(t *testing.T) {
	l := newLoad(t, notify.Group{Cards: 5, Within: 5 * time.Second})
	var mu sync.Mutex
	var last time.Time
	posts, limited := 0, 0
	l.Server.Answers(func(method string) fakeslack.Answer {
		mu.Lock()
		defer mu.Unlock()
		if method != "chat.postMessage" {
			return fakeslack.Answer{}
		}
		// The second comes too early, however slow this machine is.
		if posts++; posts == 2 || time.Since(last) < time.Second/4 {
			limited++
			return fakeslack.Answer{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
		}
		last = time.Now()
		return fakeslack.Answer{}
	})
	ids := map[string]bool{}
	began := time.Now()
	for n := range *manyRequests {
		ids[l.ask(n)] = true
	}
	asked := time.Since(began)
	l.until("all requests are posted", func() bool { return len(l.shown()) == len(ids) })
	t.Logf("%d requests, asked within %s, were on %d messages after %s; Slack limited %d calls", len(ids), asked, len(l.Messages()), time.Since(began), limited)
	if mu.Lock(); limited == 0 {
		t.Error("Slack did not limit the rate")
	}
	mu.Unlock()
	for id, cards := range l.shown() {
		if cards != 1 || !ids[id] {
			t.Errorf("request %s is on %d cards", id, cards)
		}
	}
}
