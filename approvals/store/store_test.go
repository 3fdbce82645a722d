package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func TestTurns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	ctx := t.Context()
	sessions := []string{"plain", "with space/and.dots", "=odd", strings.Repeat("long", 200), ""}
	for _, session := range sessions {
		if s.Turns.HasTurns(session) {
			t.Errorf("%.20q has turns from the start", session)
		}
		for _, id := range []string{"02", "01", "03"} {
			if err := s.Turns.PutTurn(ctx, session, id, []byte(session+id)); err != nil {
				t.Fatalf("%.20q: %v", session, err)
			}
		}
		if !s.Turns.HasTurns(session) {
			t.Errorf("%.20q has no turns right after the write", session)
		}
	}
	if err := s.Turns.PutTurn(ctx, "plain", "02", []byte("replaced")); err != nil {
		t.Fatal(err)
	}
	if err := s.Healthy(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Dir: dir})
	for i, session := range sessions {
		turns, err := s.Turns.Turns(ctx, session)
		if err != nil || len(turns) != 3 || string(turns[0]) != session+"01" || string(turns[2]) != session+"03" {
			t.Errorf("%.20q: %q, %v", session, turns, err)
		}
		if i == 0 && string(turns[1]) != "replaced" {
			t.Errorf("turn 02: %q", turns[1])
		}
		if !s.Turns.HasTurns(session) {
			t.Errorf("%.20q has no turns after the restart", session)
		}
	}
	if turns, err := s.Turns.Turns(ctx, "none"); err != nil || len(turns) != 0 || s.Turns.HasTurns("none") || s.Turns.HasTurns("=probe") {
		t.Errorf("%q, %v", turns, err)
	}
	if err := s.Turns.PutTurn(ctx, "plain", "04", make([]byte, 9<<20)); !errors.Is(err, approvals.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// One of many concurrent callers takes a turn, also after a restart, until it is deleted.
func TestTakeTurn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	take := func() (taken int32) {
		var got atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				switch ok, err := s.Turns.TakeTurn(t.Context(), "session", "once", []byte("x")); {
				case err != nil:
					t.Error(err)
				case ok:
					got.Add(1)
				}
			})
		}
		all.Wait()
		return got.Load()
	}
	if n := take(); n != 1 {
		t.Errorf("%d got it", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Dir: dir})
	if n := take(); n != 0 {
		t.Errorf("after a restart %d got it", n)
	}
	if err := s.Turns.DropTurn(t.Context(), "session", "once"); err != nil {
		t.Fatal(err)
	}
	if n := take(); n != 1 {
		t.Errorf("once dropped %d got it", n)
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

// Concurrent appends of two stores make one chain and share syncs. The events of a call are
// in their order, with others between them.
func TestAuditChain_TwoWriters(t *testing.T) {
	external := startExternal(t, 0, t.TempDir())
	stores := []*store.Store{open(t, store.Options{URL: external.url}), open(t, store.Options{URL: external.url})}
	const writers, each = 20, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				name := fmt.Sprintf("w%d-%d", w, i)
				pair := []approvals.Event{{ID: name + "a", Type: approvals.EventCallAllowed}, {ID: name + "b", Type: approvals.EventCallReleased}}
				if err := stores[w%2].Events.AppendEvents(t.Context(), pair...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	ids := map[string]int{}
	report, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range stores[0].Events.Entries(t.Context(), 1) {
			ids[entry.Event.ID]++
			if name, second := strings.CutSuffix(entry.Event.ID, "b"); second && ids[name+"a"] == 0 {
				t.Errorf("%s is before %sa", entry.Event.ID, name)
			}
			if !yield(entry, err) {
				return
			}
		}
	})
	if err != nil || report.Count != 2*writers*each || len(ids) != 2*writers*each {
		t.Fatalf("%+v, %d ids, %v", report, len(ids), err)
	}
	again := approvals.Event{ID: "w0-0a", Type: approvals.EventCallAllowed}
	if err := stores[1].Events.AppendEvents(t.Context(), again, approvals.Event{ID: "new", Type: approvals.EventCallAllowed}); err != nil {
		t.Fatal(err)
	}
	if err := stores[0].Events.EnsureEvent(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	grown, err := audit.Verify(stores[1].Events.Entries(t.Context(), report.Last.Seq))
	if err != nil || grown.Count != 2 {
		t.Fatalf("an existing event was appended again: %+v, %v", grown, err)
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

func TestRetentionKeepsTheChain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	for i := range 5 {
		if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: fmt.Sprint(i), Type: approvals.EventCallAllowed}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Dir: dir})
	drop := func(answer error) (declared audit.Head, err error) {
		err = s.Events.DropBefore(t.Context(), time.Now(), func(_ context.Context, first audit.Head) error {
			declared = first
			return answer
		})
		return declared, err
	}
	if declared, err := drop(io.EOF); declared.Seq != 5 || !errors.Is(err, io.EOF) {
		t.Fatalf("%+v is declared, %v", declared, err)
	}
	if first, err := s.Events.First(t.Context()); err != nil || first.Seq != 1 {
		t.Fatalf("the log begins at %+v although that could not be declared, %v", first, err)
	}
	declared, err := drop(nil)
	if first, readErr := s.Events.First(t.Context()); first != declared || declared.Seq != 5 || err != nil || readErr != nil {
		t.Fatalf("the log begins at %+v, %+v is declared, %v, %v", first, declared, err, readErr)
	}
	if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: "next", Type: approvals.EventCallAllowed}); err != nil {
		t.Fatal(err)
	}
	if report, err := audit.Verify(s.Events.Entries(t.Context(), 1)); err != nil || report.Count != 2 || report.Last.Seq != 6 {
		t.Fatalf("%+v, %v", report, err)
	}
}

func TestAppendRefusesBadEvents(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: "1", Before: []byte(`{`)}); err == nil {
		t.Error("an event that is not JSON was accepted")
	}
	if err := s.Events.AppendEvents(t.Context(), approvals.Event{ID: "2", Note: strings.Repeat("x", 9<<20)}); !errors.Is(err, approvals.ErrTooLarge) {
		t.Errorf("too large: %v", err)
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
		"heldcall_hold_duration_seconds", "heldcall_nats_connected", "heldcall_nats_reconnects_total", "heldcall_request_oldest_pending_age_seconds",
		"heldcall_requests_pending", "heldcall_store_errors_total", "heldcall_store_restarts_total", "heldcall_store_write_seconds",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
