//go:build clients

package clients_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	console "github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// impatience is the total time-out of clients in TestImpatientClients.
const impatience = 8 * time.Second

// TestImpatientClients lets clients with a total time-out meet a call that waits longer.
// If they announce the time-out they get the notice of a parked call in time. Else they
// send the request again and continue the turn, as do SDKs that repeat a request by
// themselves: people are asked once, and so is the model.
func TestImpatientClients(t *testing.T) {
	named := []string{"openai-python", "anthropic-python", "openai-node", "anthropic-node"}
	clients := slices.DeleteFunc(install(t), func(c client) bool { return !slices.Contains(named, c.name) })
	m := newModel()
	upstream := startModel(t, m).URL()
	start := func(beat, parkAfter time.Duration) *conformance.Heldcall {
		h := conformance.StartHeldcall(t, conformance.Options{
			Upstream: upstream, Policy: "default: ask\n", Keepalive: beat, ParkAfter: parkAfter,
			Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		review(t, h)
		return h
	}
	const seconds = int(impatience / time.Second)
	parks, blocks, mute := start(keepalive, time.Hour), start(keepalive, 0), start(time.Hour, 0)
	runs := startAll(t, clients, []jobs{
		// The client itself waits longer than it announces: on a busy machine its last bytes take
		// more than the two seconds that are left to it.
		{label: "parks", baseURL: parks.Proxy + "/v1", scenarios: []scenario{announced}, once: true, limits: limits{SDK: seconds, Total: 10 * seconds}, without: isLoop},
		{label: "blocks", baseURL: blocks.Proxy + "/v1", scenarios: []scenario{givesUp}, once: true, limits: limits{Total: seconds, Tries: 20}, without: isLoop},
		// Without heartbeats a whole answer exceeds the time-out of the SDK itself.
		{
			label: "mute", baseURL: mute.Proxy + "/v1", scenarios: []scenario{sdkAsks}, once: true, limits: limits{SDK: seconds},
			without: func(mode string) bool { return !isWhole(mode) || isLoop(mode) },
		},
	}, m)
	for _, r := range runs {
		<-r.ended
	}
	requests := requestsOf(t, parks, blocks, mute)
	for _, r := range runs {
		t.Run(r.client.name, func(t *testing.T) {
			if r.err != nil {
				t.Fatal(r.err)
			}
			for _, j := range r.jobs {
				judgeImpatient(t, r.reports[j.Name], j.Name, requests[j.Name])
				if n := m.asked(j.Name); n != 1 {
					t.Errorf("%s: the model was asked %d times", j.Name, n)
				}
			}
		})
	}
}

// judgeImpatient compares what the program of a job got with the requests of its call.
func judgeImpatient(t *testing.T, got report, job string, requests []approvals.Request) {
	t.Helper()
	if len(requests) != 1 {
		t.Errorf("%s: people were asked %d times", job, len(requests))
		return
	}
	switch s := scenarioOf(job); {
	case got.Error != "":
		t.Errorf("%s: %s", job, got.Error)
	case s == announced && (len(got.Calls) > 0 || got.Tries != 1 || !strings.Contains(got.Text, requests[0].ID)):
		t.Errorf("%s: text %q, calls %v, after %d tries; want the notice of %s at the first", job, got.Text, got.Calls, got.Tries, requests[0].ID)
	case s != announced && len(got.Calls) != 1:
		t.Errorf("%s: calls %v, want the approved one", job, got.Calls)
	case s == givesUp && got.Tries < 2:
		t.Errorf("%s: the client has not given up", job)
	}
}

// isLoop reports whether the SDK's own loop makes the requests: it does not count them.
func isLoop(mode string) bool { return strings.Contains(mode, "loop") }

// requestsOf returns what people were asked, by the job of the call.
func requestsOf(t *testing.T, asked ...*conformance.Heldcall) map[string][]approvals.Request {
	t.Helper()
	of := make(map[string][]approvals.Request)
	for _, h := range asked {
		c, err := console.New(h.Console)
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.Requests(t.Context(), approvals.Filter{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			job := r.Context.LastUserMessage
			of[job] = append(of[job], r)
		}
	}
	return of
}
