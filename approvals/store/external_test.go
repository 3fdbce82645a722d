package store_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// external is a NATS server that is not embedded.
type external struct {
	server *server.Server
	url    string
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
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	e := &external{server: srv, url: srv.ClientURL()}
	t.Cleanup(e.stop)
	return e
}

// freePorts returns ports to listen on.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	addresses, err := fakemodel.FreeAddresses(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		_, text, _ := net.SplitHostPort(address)
		port, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

func (e *external) stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// replica is a store and a running gate on an external server.
func replica(t testing.TB, url string) (*store.Store, *gate.Gate) {
	t.Helper()
	s := open(t, store.Options{URL: url})
	g := gate.New(gate.Options{Store: s.ForGate()})
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
	case <-time.After(2 * time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
}

func hold(t testing.TB, g *gate.Gate, expires time.Duration) (*gate.Hold, string) {
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
		for i, g := range []*gate.Gate{one, two, one, two} {
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
				t.Errorf("status %v, but the hold ended as %s", status, final)
			}
			return true
		})
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
	}
	// The other replica fires timers, controls runs and lists too.
	expiring, _ := hold(t, one, 100*time.Millisecond)
	wait(t, expiring.Done(), "the deadline")
	aborted, _ := hold(t, one, time.Hour)
	if _, err := two.Signal(t.Context(), approvals.Signal{RunID: "run-1", Action: approvals.SignalAbort, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	wait(t, aborted.Done(), "the abort")
	// The event of the other replica may be written a moment later.
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		odd := oddlyLogged(t, s)
		if len(odd) == 0 {
			return
		}
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("requests without their two events: %v", odd)
		}
	}
}

// oddlyLogged verifies the audit log and returns the requests that do not have two events,
// with the number of their events.
func oddlyLogged(t *testing.T, s *store.Store) map[string]int {
	t.Helper()
	counts := map[string]int{}
	if _, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range s.Events.Entries(t.Context(), 1) {
			counts[entry.Event.RequestID]++
			if !yield(entry, err) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	delete(counts, "")
	for id, n := range counts {
		if n == 2 {
			delete(counts, id)
		}
	}
	return counts
}

// A restart of the server loses no hold, and holds end at once when it is back.
func TestPromise7_NothingHangs_ExternalServerRestarts(t *testing.T) {
	dir := t.TempDir()
	port := freePorts(t, 1)[0] // that no connection takes while the server is away
	e := startExternal(t, port, dir)
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
	startExternal(t, port, dir)
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
		if time.Since(start) > 2*time.Minute {
			t.Fatal(err)
		}
	}
	decided := time.Now()
	wait(t, held.Done(), "the hold on the other replica")
	if woke := time.Since(decided); woke > 15*time.Second { // a deaf watch takes 20 s to notice
		t.Errorf("the hold ended %s after the decision: the watch did not resume", woke)
	}
	if got := held.Requests()[0]; got.Status != approvals.StatusApproved || r.Status != approvals.StatusApproved {
		t.Fatalf("%+v", got)
	}
}

// The log names the server of a lost connection without its password.
func TestLostServerIsNamed(t *testing.T) {
	e := startExternal(t, 0, t.TempDir())
	var log written
	open(t, store.Options{URL: strings.Replace(e.url, "//", "//me:sesame@", 1), Log: slog.New(slog.NewTextHandler(&log, nil))})
	e.stop()
	address := strings.TrimPrefix(e.url, "nats://")
	for start := time.Now(); !strings.Contains(log.String(), "lost the connection"); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("logged %s", log.String())
		}
	}
	if got := log.String(); !strings.Contains(got, address) || strings.Contains(got, "sesame") {
		t.Errorf("logged %s", got)
	}
}

// written is a log that can be read while it is written.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
