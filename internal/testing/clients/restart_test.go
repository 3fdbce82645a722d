//go:build clients

package clients_test

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	console "github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

var gapList = flag.String("gaps", "0s", "times between the end of one heldcall and the start of the next")

// TestRestart stops heldcalls while they hold a call of every client, and starts each again after a gap: how each client ends
// is in the table of docs/durability.md. Without a gap the table is asserted. What happens after another gap, such as
// -args -gaps=1s,3s, depends on the machine too, so it is printed.
func TestRestart(t *testing.T) {
	var gaps []time.Duration
	for _, text := range strings.Split(*gapList, ",") {
		gap, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		gaps = append(gaps, gap)
	}
	clients := install(t)
	m := newModel()
	upstream := startModel(t, m).URL()
	heldcalls := map[string]*conformance.Heldcall{} // by the label of their jobs
	var all []jobs
	add := func(ending string, gap, beat time.Duration, without func(string) bool) {
		label := ending + "-" + gap.String()
		heldcalls[label] = conformance.StartHeldcall(t, conformance.Options{
			Upstream: upstream, Policy: "default: ask\n", Keepalive: beat,
			Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		})
		all = append(all, jobs{label: label, baseURL: heldcalls[label].Proxy + "/v1", scenarios: []scenario{restart}, once: true, without: without})
	}
	streamed := func(mode string) bool { return !isWhole(mode) }
	for _, gap := range gaps {
		if gap == 0 {
			add("broken", gap, keepalive, nil)
		} else { // no client repeats a stream that breaks
			add("broken", gap, keepalive, streamed)
		}
		// Without heartbeats the head of a whole answer has not gone out: it ends with status 503.
		add("refused", gap, time.Hour, streamed)
	}
	began := time.Now()
	runs := startAll(t, clients, all, m)
	want := map[string]int{}
	for _, r := range runs {
		for _, j := range r.jobs {
			want[labelOf(j)]++
		}
	}
	for label, h := range heldcalls {
		awaitHeld(t, h, want[label])
	}
	time.Sleep(keepalive * 3 / 2) // the last one has got a heartbeat
	t.Logf("all calls are held after %s", time.Since(began).Round(time.Second))
	var restarting sync.WaitGroup
	for _, gap := range gaps {
		for _, ending := range []string{"broken", "refused"} {
			h := heldcalls[ending+"-"+gap.String()]
			restarting.Go(func() {
				restarted := make(chan struct{})
				closed := portCloses(h.Proxy, restarted)
				h.Restart(gap)
				close(restarted)
				t.Logf("gap of %s, %s: the port was seen closed for %s", gap, ending, (<-closed).Round(10*time.Millisecond))
			})
		}
	}
	restarting.Wait()
	for _, h := range heldcalls {
		review(t, h)
	}
	table, compared := clientTable(t), map[cell]bool{}
	for _, r := range runs {
		t.Run(r.client.name, func(t *testing.T) {
			<-r.ended
			if r.err != nil {
				t.Fatal(r.err)
			}
			for _, j := range r.jobs {
				got := r.reports[j.Name]
				ending, gap, _ := strings.Cut(labelOf(j), "-")
				if !isWhole(j.Mode) {
					ending = "stream"
				}
				repeated := len(got.Calls) == 1 && got.Error == ""
				t.Logf("gap of %s, %s: repeats the request %t", gap, ending, repeated)
				if gap == "0s" {
					c := cell{r.client.name, ending}
					compared[c] = true
					if want, ok := table[c]; !ok || repeated != want {
						t.Errorf("%s: repeats the request %t, the table has %t (a row: %t): %s", j.Name, repeated, want, ok, got.Error)
					}
				}
				if len(got.Calls) != 1 && got.Error == "" {
					t.Errorf("%s: its program gets neither the call nor an error", j.Name)
				}
				if n := m.asked(j.Name); n != 1 {
					t.Errorf("%s: the model was asked %d times", j.Name, n)
				}
			}
		})
	}
	for c := range table {
		if everyClient() && slices.Contains(gaps, 0) && !compared[c] {
			t.Errorf("no client proves the cell %s of %s", c.ending, c.client)
		}
	}
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// labelOf is the label of a job.
func labelOf(j job) string { return j.Name[strings.LastIndex(j.Name, "/")+1:] }

// portCloses yields for how long a port is seen closed that closes once, until it is open again: 0 if it closes
// between two looks, which a busy machine can have far apart.
func portCloses(address string, again <-chan struct{}) <-chan time.Duration {
	closed := make(chan time.Duration, 1)
	go func() {
		var since time.Time
		for ; ; time.Sleep(5 * time.Millisecond) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
			if err != nil {
				if since.IsZero() {
					since = time.Now()
				}
				continue
			}
			conn.Close()
			if !since.IsZero() {
				closed <- time.Since(since)
				return
			}
			select {
			case <-again:
				closed <- 0
				return
			default:
			}
		}
	}()
	return closed
}

// cell is one of the table of clients in docs/durability.md: a client, and how its answer
// ends: stream, broken or refused.
type cell struct{ client, ending string }

// clientTable reads the table: whether a client repeats its request by itself.
func clientTable(t *testing.T) map[cell]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[cell]bool{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) != 6 || !strings.HasPrefix(strings.TrimSpace(columns[1]), "`") {
			continue
		}
		for _, name := range strings.Split(columns[1], ",") {
			for i, ending := range []string{"stream", "broken", "refused"} {
				said := strings.TrimSpace(columns[i+2])
				c := cell{strings.Trim(name, " `"), ending}
				if _, twice := table[c]; twice || (said != "yes" && said != "no") {
					t.Errorf("the table has %q for %s of %s, or two rows", said, ending, c.client)
				}
				table[c] = said == "yes"
			}
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
		switch {
		case ctx.Err() != nil:
			t.Fatalf("%d of %d calls are held: %v", pending, n, err)
		case err != nil:
			continue // the store is slow while all clients start
		}
		pending = len(page.Items)
	}
}
