package store_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
)

// external is a NATS server outside of heldcall.
type external struct {
	server *server.Server
	url    string
	port   int
}

// startExternal starts one; port 0 takes any.
func startExternal(t testing.TB, port int, dir string) *external {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	e := &external{server: srv, url: srv.ClientURL(), port: srv.Addr().(*net.TCPAddr).Port}
	t.Cleanup(e.stop)
	return e
}

func (e *external) stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// replica is a store and a running gate on an external server.
func replica(t testing.TB, url string) (*store.Store, *approvals.Gate) {
	t.Helper()
	s := open(t, store.Options{URL: url})
	g := approvals.NewGate(approvals.GateOptions{Store: s})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	wait(t, g.Ready(), "the gate")
	return s, g
}

func wait(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
}

func hold(t testing.TB, g *approvals.Gate, expires time.Duration) (*approvals.Hold, string) {
	t.Helper()
	h, err := g.Open(t.Context(), []approvals.Request{{
		Kind: approvals.KindPermission, RunID: "run-1", ToolName: "rm", Arguments: []byte(`{}`), ExpiresAt: time.Now().Add(expires),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h, h.Requests()[0].ID
}

func TestPromise5_DecidedOnce_TwoReplicas(t *testing.T) {
	e := startExternal(t, 0, t.TempDir())
	s, one := replica(t, e.url)
	_, two := replica(t, e.url)
	for range 20 {
		h, id := hold(t, one, time.Hour)
		var won atomic.Int32
		var told sync.Map
		var all sync.WaitGroup
		for i, g := range []*approvals.Gate{one, two, one, two} {
			all.Go(func() {
				action := []approvals.Action{approvals.ActionApprove, approvals.ActionDeny}[i%2]
				r, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: action, ReviewerID: "r" + strconv.Itoa(i)})
				var lost *approvals.DecidedError
				if errors.As(err, &lost) {
					r = lost.Request
				} else if err == nil {
					won.Add(1)
				} else {
					t.Error(err)
				}
				told.Store(r.Status, true)
			})
		}
		all.Wait()
		wait(t, h.Done(), "the hold")
		final := h.Requests()[0].Status
		told.Range(func(status, _ any) bool {
			if status != final {
				t.Errorf("told %v, the hold ended as %s", status, final)
			}
			return true
		})
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
	}
	// The other replica keeps deadlines, steers runs and lists too.
	expiring, _ := hold(t, one, 100*time.Millisecond)
	wait(t, expiring.Done(), "the deadline")
	aborted, _ := hold(t, one, time.Hour)
	if _, err := two.Signal(t.Context(), approvals.Signal{RunID: "run-1", Action: approvals.SignalAbort, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	wait(t, aborted.Done(), "the abort")
	counts := map[string]int{}
	if _, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range s.Entries(t.Context(), 1) {
			counts[entry.Event.RequestID]++
			if !yield(entry, err) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	for id, n := range counts {
		if id != "" && n != 2 {
			t.Errorf("request %s has %d events", id, n)
		}
	}
}

// A server that restarts under holds loses none, and wakes them at once when it
// is back.
func TestPromise7_NothingHangs_ExternalServerRestarts(t *testing.T) {
	dir := t.TempDir()
	e := startExternal(t, 0, dir)
	_, one := replica(t, e.url)
	_, two := replica(t, e.url)
	held, id := hold(t, one, time.Hour)
	expiring, _ := hold(t, one, 500*time.Millisecond)
	e.stop()
	if _, err := two.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatalf("without a server: %v", err)
	}
	if _, err := one.Open(t.Context(), []approvals.Request{{ToolName: "x"}}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatalf("without a server: %v", err)
	}
	time.Sleep(600 * time.Millisecond) // over the deadline of one
	startExternal(t, e.port, dir)
	wait(t, expiring.Done(), "the deadline that passed meanwhile")
	if got := expiring.Requests()[0].Status; got != approvals.StatusExpired {
		t.Fatal(got)
	}
	var r approvals.Request
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if r, err = two.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err == nil {
			break
		}
		if time.Since(start) > 20*time.Second {
			t.Fatal(err)
		}
	}
	decided := time.Now()
	wait(t, held.Done(), "the hold on the other replica")
	if woke := time.Since(decided); woke > 10*time.Second {
		t.Errorf("woke %s after the decision: the watch was deaf", woke)
	}
	if got := held.Requests()[0]; got.Status != approvals.StatusApproved || r.Status != approvals.StatusApproved {
		t.Fatalf("%+v", got)
	}
}
