//go:build replicas && unix

package app_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

var outage = flag.Duration("outage", 30*time.Second, "how long NATS is away from replicas")

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

// nodeFault is a fault of one server of NATS.
type nodeFault struct {
	name        string
	begin, undo func(int)
}

// nodeFaults are the faults after which the other servers elect new leaders.
func nodeFaults(c *natscluster.Cluster) []nodeFault {
	return []nodeFault{{"killed", c.Kill, c.Restart}, {"cut off", c.Cut, c.Heal}, {"cut off from the others", c.CutRoutes, c.Heal}}
}

// Two of three servers of NATS are away, so nothing can be written: a held call waits, and
// /readyz reports it and recovers by itself. A decision on another replica releases the call
// afterwards.
func TestHeldCallOutlivesAnOutage(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 2, askAll, callThenText)
	for _, fault := range append(nodeFaults(c), nodeFault{"stopped", c.Stop, c.Cont}) {
		began := time.Now()
		held := w[0].post("/v1/chat/completions", streamedRequest)
		id := w[1].pending(1)[0].ID
		w[0].awaitRecorded(id)
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
			t.Errorf("%s: the agent got %s\n%s", fault.name, got, w[0].connectionLog())
		}
		t.Logf("%s: released after %s", fault.name, time.Since(began))
		c.Await()
	}
}

// awaitRecorded waits until a request is in the audit log: its call is held then. Before, an
// outage that is longer than a write is tried again ends the answer with an error.
func (w *world) awaitRecorded(id string) {
	w.t.Helper()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		for e, err := range w.console.Audit(w.t.Context(), time.Time{}) {
			if err == nil && e.RequestID == id && e.Type == approvals.EventApprovalRequired {
				return
			}
		}
		if time.Since(start) > soon {
			w.t.Fatalf("request %s is not in the audit log", id)
		}
	}
}

// One of three servers of NATS is away: calls are held, decided on the other replica and
// released. Which of the three a replica is connected to, and which has its watch, does not
// matter.
func TestHeldCallOutlivesANode(t *testing.T) {
	c := natscluster.Start(t, 3)
	w := replicas(t, c, 2, askAll, callThenText)
	for _, fault := range nodeFaults(c) {
		for i := range 3 {
			held := w[0].post("/v1/chat/completions", streamedRequest)
			id := w[1].pending(1)[0].ID
			began := time.Now()
			fault.begin(i)
			w[1].decideInTheEnd(id)
			t.Logf("%d %s: decided after %s", i, fault.name, time.Since(began))
			if got := held.rest(); !strings.Contains(got, lsCall.ID) {
				t.Errorf("%d %s: the agent got %s\n%s", i, fault.name, got, w[0].connectionLog())
			}
			t.Logf("%d %s: released after %s", i, fault.name, time.Since(began))
			fault.undo(i)
			c.Await()
			for _, one := range w {
				one.awaitReady(true)
			}
			time.Sleep(10 * time.Second) // NATS needs it before it can lose the next server
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
			w.t.Fatalf("decide %s: %v\n%s", id, err, w.connectionLog())
		}
	}
}

// connectionLog returns what heldcall has logged of its connection to NATS, and its warnings.
func (w *world) connectionLog() string {
	var lines []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "component=store") || strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-50):], "")
}

// Each server of NATS is restarted, then a replica, while agents call tools through the other
// replicas and people decide. Every answer is the one that people have decided.
func TestRollingRestart(t *testing.T) {
	c := natscluster.Start(t, 3)
	var last app.Config // of the replica that is restarted
	w := replicas(t, c, 2, askAll, callThenText)
	third := build(t, askAll, callThenText, func(o *app.Config) { o.NATS.URL = c.URLs(); last = *o })
	var got answers
	stop := make(chan struct{})
	var agents, people sync.WaitGroup
	for i := range 6 {
		agents.Go(func() { got.work(w[i%2], fmt.Sprintf("task %d of agent %d", time.Now().UnixNano(), i), stop) })
	}
	agentsDone := make(chan struct{})
	decided := map[string]bool{}
	people.Go(func() { decideAll(t, w, decided, agentsDone) })
	for i := range 3 {
		c.Restart(i)
		c.Await()
		time.Sleep(2 * time.Second) // under load
	}
	for range 2 {
		if err := third.stop(); err != nil {
			t.Error(err)
		}
		third.start(last)
		third.awaitReady(true)
	}
	close(stop)
	agents.Wait()
	close(agentsDone)
	people.Wait()
	want := map[approvals.Status]int{}
	for id := range decided {
		r, err := third.console.Request(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want[r.Status]++
	}
	t.Logf("decided: %v; %d released, %d denied, %d errors", want, got.released.Load(), got.denied.Load(), len(got.errors))
	if int(got.released.Load()) != want[approvals.StatusApproved] || int(got.denied.Load()) != want[approvals.StatusDenied] || len(want) != 2 {
		t.Error("the answers are not those that people have decided")
	}
	if len(got.errors) > 0 {
		t.Errorf("answers that ended with an error: %q\n%s\n%s", got.errors, w[0].connectionLog(), w[1].connectionLog())
	}
}

// answers are those that agents got.
type answers struct {
	released, denied atomic.Int32
	mu               sync.Mutex
	errors           []string
}

// work asks a model with one task after the other until stop is closed.
func (a *answers) work(w *world, name string, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		task := fmt.Sprintf("%s, %d", name, n)
		answer := w.post("/v1/chat/completions", strings.Replace(streamedRequest, "do it", task, 1)).rest()
		switch {
		case strings.Contains(answer, lsCall.ID):
			a.released.Add(1)
		case strings.Contains(answer, "Understood."):
			a.denied.Add(1)
		default:
			a.mu.Lock()
			a.errors = append(a.errors, answer)
			a.mu.Unlock()
		}
	}
}

// decideAll approves and denies all requests in turn, each on another replica, until done is
// closed. It adds their ids to decided.
func decideAll(t *testing.T, w []*world, decided map[string]bool, done <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		page, err := w[n%len(w)].console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err != nil {
			continue // while a server restarts
		}
		for i, r := range page.Items {
			decided[r.ID] = true
			action := []approvals.Action{approvals.ActionApprove, approvals.ActionDeny}[(n+i)%2]
			_, _ = w[(n+i+1)%len(w)].console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: action}) // again if it fails
		}
	}
}
