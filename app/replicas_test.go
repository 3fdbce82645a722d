//go:build unix

package app_test

import (
	"flag"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

var outage = flag.Duration("outage", 3*time.Second, "how long NATS is away from replicas; make replicas sets 30s")

// replicas starts n replicas on a cluster at the same moment.
func replicas(t *testing.T, c *natscluster.Cluster, n int, policy string, script fakemodel.Script) []*world {
	t.Helper()
	worlds := make([]*world, n)
	var all sync.WaitGroup
	for i := range worlds {
		all.Go(func() {
			worlds[i] = build(t, policy, script, func(o *app.Config) { o.NATS.URL = c.URLs() })
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return worlds
}

// ready returns the state of /readyz and its text.
func (w *world) ready() (bool, string) {
	w.t.Helper()
	answer, err := http.Get(w.app.ConsoleURL() + "/readyz")
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode == http.StatusOK, string(text)
}

// awaitReady waits until /readyz has a state.
func (w *world) awaitReady(want bool) {
	w.t.Helper()
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		got, text := w.ready()
		if got == want {
			return
		}
		if time.Since(start) > soon {
			w.t.Fatalf("ready: %t, want %t: %s", got, want, text)
		}
	}
}

// Replicas that start together on an empty cluster share requests, decisions and limits.
func TestReplicas(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 3, "default: ask\nrules:\n  - allow: [\"read(*)\"]\n    limit: {per_run: 4, then: deny}\n", callThenText)
	for i := range w {
		held := w[i].post("/v1/chat/completions", streamedRequest)
		other := w[(i+1)%len(w)]
		other.decide(other.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := held.rest(); !strings.Contains(got, lsCall.ID) {
			t.Errorf("replica %d: the agent got %s", i, got)
		}
	}
}

// Two of three servers of NATS are away, so nothing can be written: a held call waits, and
// /readyz reports it and recovers by itself. A decision on another replica releases the call
// afterwards.
func TestHeldCallOutlivesAnOutage(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 2, askAll, callThenText)
	for _, fault := range []struct {
		name        string
		begin, undo func(int)
	}{
		{"killed", c.Kill, c.Restart},
		{"stopped", c.Stop, c.Cont},
		{"cut off", c.Cut, c.Heal},
		{"cut off from each other", c.CutRoutes, c.Heal},
	} {
		began := time.Now()
		held := w[0].post("/v1/chat/completions", streamedRequest)
		id := w[1].pending(1)[0].ID
		fault.begin(0)
		fault.begin(1)
		for _, one := range w {
			one.awaitReady(false)
		}
		_, text := w[0].ready()
		t.Logf("%s: not ready after %s: %s", fault.name, time.Since(began), text)
		time.Sleep(*outage)
		fault.undo(0)
		fault.undo(1)
		began = time.Now()
		for _, one := range w {
			one.awaitReady(true)
		}
		t.Logf("%s: ready again after %s", fault.name, time.Since(began))
		w[1].decide(id, approvals.Decision{Action: approvals.ActionApprove})
		if got := held.rest(); !strings.Contains(got, lsCall.ID) {
			t.Errorf("%s: the agent got %s", fault.name, got)
		}
		t.Logf("%s: released after %s", fault.name, time.Since(began))
		c.Await()
	}
}

// One of three servers of NATS is away: calls are held, decided on the other replica and
// released. Which of the three a replica is connected to, and which has its watch, does not
// matter.
func TestHeldCallOutlivesANode(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 2, askAll, callThenText)
	for _, fault := range []struct {
		name        string
		begin, undo func(int)
	}{
		{"killed", c.Kill, c.Restart},
		{"cut off", c.Cut, c.Heal},
		{"cut off from the others", c.CutRoutes, c.Heal},
	} {
		for i := range 3 {
			held := w[0].post("/v1/chat/completions", streamedRequest)
			id := w[1].pending(1)[0].ID
			began := time.Now()
			fault.begin(i)
			w[1].decideInTheEnd(id)
			t.Logf("%d %s: decided after %s", i, fault.name, time.Since(began))
			if got := held.rest(); !strings.Contains(got, lsCall.ID) {
				t.Errorf("%d %s: the agent got %s", i, fault.name, got)
			}
			t.Logf("%d %s: released after %s", i, fault.name, time.Since(began))
			fault.undo(i)
			c.Await()
			for _, one := range w {
				one.awaitReady(true)
			}
		}
	}
}

// decideInTheEnd approves a request, and tries again while the store is not available. A
// decision that an earlier attempt has recorded counts too.
func (w *world) decideInTheEnd(id string) {
	w.t.Helper()
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := w.console.Decide(w.t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove})
		if err == nil {
			return
		}
		if r, err := w.console.Request(w.t.Context(), id); err == nil && r.Status == approvals.StatusApproved {
			return
		}
		if time.Since(start) > soon {
			w.t.Fatal(err)
		}
	}
}
