package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// The object store of nats.go leaks a goroutine that waits for ever on a nil channel if that goroutine
// first runs after the write that started it has ended (newAsyncReply, v1.55.0).
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "-"
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	_, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "another heldcall") {
		t.Fatalf("a second store on the folder: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, store.Options{Dir: dir})
}

func TestListenIsLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "192.0.2.1:4143", ":4143", "example.com:1", "127.0.0.1", "127.0.0.1:x"} {
		if _, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Listen: listen}); err == nil || !strings.Contains(err.Error(), "nats.listen") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	s := open(t, store.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if _, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Listen: s.ListenAddr()}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("an address in use: %v", err)
	}
}

// The record by which the store finds out whether it can write is no hidden turn.
func TestProbeIsNoTurn(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	if err := s.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Turns.AnyTurns() || s.Turns.HasTurns("=probe") {
		t.Error("the probe is a hidden turn")
	}
}

func TestRequestsBeyondTheLimit(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	g := gate.New(gate.Options{Store: s.ForGate()})
	big := approvals.Request{Kind: approvals.KindPermission, ToolName: "write_file", Arguments: []byte(`{"text":"` + strings.Repeat("x", 5<<20) + `"}`)}
	_, err := g.Open(t.Context(), []approvals.Request{big})
	if !errors.Is(err, approvals.ErrTooLarge) || !strings.Contains(err.Error(), "write_file") {
		t.Fatalf("%v", err)
	}
	// The largest request can be decided with arguments of the same size.
	big.Arguments = big.Arguments[len(big.Arguments)-3<<20:]
	big.Arguments = append([]byte(`{"text":"`), big.Arguments...)
	h, err := g.Open(t.Context(), []approvals.Request{big})
	if err != nil {
		t.Fatal(err)
	}
	id := h.Requests()[0].ID
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: big.Arguments, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	// An edit that is too large is refused, and the request can still be decided.
	h, err = g.Open(t.Context(), []approvals.Request{big})
	if err != nil {
		t.Fatal(err)
	}
	id = h.Requests()[0].ID
	huge := []byte(`{"text":"` + strings.Repeat("x", 6<<20) + `"}`)
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: huge, ReviewerID: "bob"}); !errors.Is(err, approvals.ErrTooLarge) {
		t.Fatalf("%v", err)
	}
	if r, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil || r.Status != approvals.StatusDenied {
		t.Fatalf("%v", err)
	}
}

// The server has a thousand consumers of a stream at most: readers of the audit log that have
// ended leave none.
func TestReadersLeaveNoConsumer(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{Dir: t.TempDir()})
	if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: "e1", Type: approvals.EventCallAllowed}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		for _, err := range s.Events.Entries(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), subjects.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Consumers; n > 0 {
		t.Errorf("the stream has %d consumers", n)
	}
}

func TestMetricsAreThereFromTheStart(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := open(t, store.Options{Dir: t.TempDir(), Registerer: reg})
	gate.New(gate.Options{Store: s.ForGate(), Registerer: reg})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	want := []string{
		"heldcall_hold_duration_seconds", "heldcall_nats_connected", "heldcall_nats_reconnects_total", "heldcall_request_next_expiry_seconds", "heldcall_request_oldest_pending_age_seconds",
		"heldcall_requests_pending", "heldcall_store_errors_total", "heldcall_store_restarts_total", "heldcall_store_write_seconds",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
