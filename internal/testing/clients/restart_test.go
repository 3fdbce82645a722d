//go:build clients

package clients_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	console "github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// TestRestart stops heldcall while it holds a call of every client, and starts it again:
// how each client ends is in the table of docs/durability.md.
func TestRestart(t *testing.T) {
	clients := install(t)
	m := newModel()
	upstream := startModel(t, m).URL()
	start := func(beat time.Duration) *conformance.Heldcall {
		return conformance.StartHeldcall(t, conformance.Options{
			Upstream: upstream, Policy: "default: ask\n", Keepalive: beat,
			Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		})
	}
	// Without heartbeats the head of a whole answer has not gone out: it ends with status 503.
	broken, refused := start(keepalive), start(time.Hour)
	scenarios := []scenario{restart}
	runs := startAll(t, clients, []jobs{
		{label: "broken", baseURL: broken.Proxy + "/v1", scenarios: scenarios, once: true},
		{label: "refused", baseURL: refused.Proxy + "/v1", scenarios: scenarios, once: true, without: func(mode string) bool { return !isWhole(mode) }},
	})
	want := map[string]int{}
	for _, r := range runs {
		for _, j := range r.jobs {
			want[j.Name[strings.LastIndex(j.Name, "/")+1:]]++
		}
	}
	awaitHeld(t, broken, want["broken"])
	awaitHeld(t, refused, want["refused"])
	time.Sleep(keepalive * 3 / 2) // the last one has got a heartbeat
	broken.Restart()
	refused.Restart()
	review(t, broken)
	review(t, refused)
	table := repeats(t)
	for _, r := range runs {
		t.Run(r.client.name, func(t *testing.T) {
			<-r.ended
			if r.err != nil {
				t.Fatal(r.err)
			}
			for _, j := range r.jobs {
				got := r.reports[j.Name]
				ending := "stream"
				if isWhole(j.Mode) {
					ending = j.Name[strings.LastIndex(j.Name, "/")+1:]
				}
				if repeats := len(got.Calls) == 1 && got.Error == ""; repeats != table[r.client.name][ending] {
					t.Errorf("%s: repeats the request %t, the table has %t: %s", j.Name, repeats, !repeats, got.Error)
				}
			}
		})
	}
}

// repeats reads the table of clients in docs/durability.md: whether a client repeats its
// request by itself, by the ending of the answer: stream, broken or refused.
func repeats(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		for _, name := range strings.Split(cells[1], ",") {
			yes := func(i int) bool { return strings.TrimSpace(cells[i]) == "yes" }
			table[strings.Trim(name, " `")] = map[string]bool{"stream": yes(2), "broken": yes(3), "refused": yes(4)}
		}
	}
	return table
}

// awaitHeld waits until a number of requests is pending.
func awaitHeld(t *testing.T, h *conformance.Heldcall, n int) {
	t.Helper()
	c, err := console.New(h.Console)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for pending := 0; pending < n; time.Sleep(100 * time.Millisecond) {
		page, err := c.Requests(ctx, approvals.Filter{Status: approvals.StatusPending, Limit: 500})
		if err != nil {
			t.Fatalf("%d of %d calls are held: %v", pending, n, err)
		}
		pending = len(page.Items)
	}
}
