package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/runs"
)

// loadSpy records the requests that a start reads, and which are final as far as the gate knows.
type loadSpy struct {
	approvals.Store
	mu     sync.Mutex
	loaded bool
	ids    []string
	final  map[string]bool
}

// knowsFinal reports whether the gate has been told that all requests are final.
func (s *loadSpy) knowsFinal(ids []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool { return !s.final[id] })
}

func (s *loadSpy) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	return s.Store.WatchRequests(ctx, func(r approvals.Stored) {
		s.mu.Lock()
		if !s.loaded {
			s.ids = append(s.ids, r.Request.ID)
		}
		s.mu.Unlock()
		changed(r)
		s.mu.Lock()
		s.final[r.Request.ID] = r.Request.Status.Final()
		s.mu.Unlock()
	}, func() {
		s.mu.Lock()
		s.loaded = true
		s.mu.Unlock()
		loaded()
	})
}

// heldTurn is the only turn that is stored.
type heldTurn string

func (h heldTurn) AgentState(turn string) (approvals.AgentState, bool) {
	return approvals.AgentState{State: approvals.AgentDetached}, turn == string(h)
}

func (heldTurn) RequestChanged(*approvals.Request) {}

// process is a gate on a state, until it is stopped.
type process struct {
	store approvalstest.Store
	spy   *loadSpy
	gate  *gate.Gate
	stop  func()
}

func runProcess(t *testing.T, state approvalstest.Store, wrap func(approvals.Store) approvals.Store) process {
	t.Helper()
	s := state.Reopen()
	p := process{store: s, spy: &loadSpy{Store: wrap(s), final: map[string]bool{}}}
	p.gate = gate.New(gate.Options{Store: p.spy, Results: true, Turns: heldTurn("held")})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.gate.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.stop)
	approvalstest.Await(t, p.gate.Ready(), "the gate to be ready")
	return p
}

func unchanged(s approvals.Store) approvals.Store { return s }

func decide(t *testing.T, g *gate.Gate, r approvals.Request) string {
	t.Helper()
	id := approvalstest.Open(t, g, r).Requests()[0].ID
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	return id
}

// A start reads only requests that something waits for. Lists contain the others too, and a late
// decision gets the earlier one, with and without the marks of closed requests.
func TestStartReadsOpenRequests(t *testing.T) {
	t.Parallel()
	state := approvalstest.OpenStore()
	first := runProcess(t, state, unchanged)
	named := func(run, call, turn string) approvals.Request {
		r := approvalstest.Request("x")
		r.RunID, r.ToolCallID, r.TurnID = run, call, turn
		return r
	}
	var all []string
	for i := range 20 {
		all = append(all, decide(t, first.gate, named("run-1", fmt.Sprint("call_", i), "")))
	}
	latest := all[len(all)-1]
	pending := approvalstest.Open(t, first.gate, named("", "", "")).Requests()[0].ID
	held := decide(t, first.gate, named("", "", "held"))
	awaited := decide(t, first.gate, named("", "awaited", ""))
	r, err := first.gate.Request(t.Context(), awaited)
	if err != nil {
		t.Fatal(err)
	}
	first.gate.Results.Released(&r)
	approvalstest.Eventually(t, "the release is recorded", func() bool {
		stored, err := first.store.GetRequest(t.Context(), awaited)
		return err == nil && stored.Request.Details.Result != nil
	})
	decided := append(slices.Clone(all), held, awaited)
	approvalstest.Eventually(t, "the watch has reported the decisions", func() bool { return first.spy.knowsFinal(decided) })
	all = append(all, pending, held, awaited)
	first.stop()

	open := []string{latest, pending, held, awaited}
	for _, restart := range []struct {
		name string
		want []string
	}{{"with the marks", open}, {"with the marks, again", open}, {"without the marks", all}} {
		if restart.name == "without the marks" {
			state.ForgetClosed()
		}
		p := runProcess(t, state, unchanged)
		if diff := cmp.Diff(restart.want, p.spy.ids); diff != "" {
			t.Errorf("%s: the start read other requests:\n%s", restart.name, diff)
		}
		page, err := p.gate.Requests(t.Context(), approvals.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, r := range slices.Backward(page.Items) {
			listed = append(listed, r.ID)
		}
		if diff := cmp.Diff(all, listed); diff != "" {
			t.Errorf("%s: other requests are listed:\n%s", restart.name, diff)
		}
		var late *approvals.DecidedError
		_, err = p.gate.Decide(t.Context(), approvals.Decision{RequestID: all[0], Action: approvals.ActionDeny, ReviewerID: "eve"})
		if !errors.As(err, &late) || late.Request.Decisions[0].ReviewerID != "bob" {
			t.Errorf("%s: a late decision: %v", restart.name, err)
		}
		if !p.gate.Results.Any() {
			t.Errorf("%s: no result is awaited", restart.name)
		}
		p.stop()
	}
}

// A request whose events could not be written is not closed: the next start writes them.
func TestPromise4_RecordedFirst_EventsAreWrittenAfterARestart(t *testing.T) {
	t.Parallel()
	state := approvalstest.OpenStore()
	var failing atomic.Bool
	p := runProcess(t, state, func(s approvals.Store) approvals.Store {
		return &faulty{Store: s, appendFails: failing.Load}
	})
	id := approvalstest.Open(t, p.gate, approvalstest.Request("x")).Requests()[0].ID
	failing.Store(true)
	if _, err := p.gate.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	p.stop()

	p = runProcess(t, state, unchanged)
	if !slices.Contains(p.spy.ids, id) {
		t.Errorf("the start read %v, not %s", p.spy.ids, id)
	}
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision}
	approvalstest.Eventually(t, "the decision is in the log", func() bool {
		return cmp.Equal(want, approvalstest.EventTypes(approvalstest.EventsOf(t, p.store, id)))
	})
}

// slowRuns holds up the writes of runs, which then fail.
type slowRuns struct {
	approvals.Store
	begun, end chan struct{}
}

func (s *slowRuns) Runs() approvals.Records[approvals.Run] { return slowRunRecords{s.Store.Runs(), s} }

type slowRunRecords struct {
	approvals.Records[approvals.Run]
	slow *slowRuns
}

func (r slowRunRecords) Put(ctx context.Context, run approvals.Run, revision uint64) error {
	if run.State != approvals.RunAborted {
		return r.Records.Put(ctx, run, revision)
	}
	r.slow.begun <- struct{}{}
	<-r.slow.end
	return errInjected
}

// The request of a decision to abort a run is not closed before the run is aborted: if heldcall
// stops meanwhile, the next start aborts it.
func TestPromise4_RecordedFirst_RunIsAbortedAfterARestart(t *testing.T) {
	t.Parallel()
	state, slow := approvalstest.OpenStore(), &slowRuns{begun: make(chan struct{}, 1), end: make(chan struct{})}
	p := runProcess(t, state, func(s approvals.Store) approvals.Store { slow.Store = s; return slow })
	r := approvalstest.Request("x")
	r.RunID = "run-1"
	id := approvalstest.Open(t, p.gate, r).Requests()[0].ID
	approvalstest.Open(t, p.gate, func() approvals.Request { r := r; r.ToolName = "y"; return r }())
	decided := make(chan error, 1)
	go func() {
		_, err := p.gate.Decide(context.Background(), approvals.Decision{RequestID: id, Action: approvals.ActionAbortRun, ReviewerID: "bob"})
		decided <- err
	}()
	approvalstest.Await(t, slow.begun, "the decision is recorded, and the run is being aborted")
	decide(t, p.gate, r) // it is the latest of the run
	go func() {
		time.Sleep(100 * time.Millisecond)
		close(slow.end)
	}()
	p.stop()
	if err := <-decided; err == nil {
		t.Error("the failure is not reported")
	}

	p = runProcess(t, state, unchanged)
	approvalstest.Eventually(t, "the run is aborted", func() bool {
		run, err := p.gate.RunByID(t.Context(), "run-1")
		return err == nil && run.State == approvals.RunAborted
	})
}

// slowLoad reads the requests late.
type slowLoad struct{ approvals.Store }

func (s slowLoad) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	time.Sleep(2 * time.Second)
	return s.Store.WatchRequests(ctx, changed, loaded)
}

// A silent run whose request is held does not end while the requests are being read.
func TestRunDoesNotEndDuringTheFirstLoad(t *testing.T) {
	t.Parallel()
	state := approvalstest.OpenStore()
	p := runProcess(t, state, unchanged)
	r := approvalstest.Request("x")
	r.RunID, r.ExpiresAt = "run-1", time.Now().Add(time.Hour)
	approvalstest.Open(t, p.gate, r)
	before := time.Now().UTC().Add(-2 * runs.DefaultIdle)
	run := approvals.Run{ID: "run-1", State: approvals.RunRunning, Principal: r.Principal, UpdatedAt: before, ActiveAt: before}
	if err := p.store.Runs().Put(t.Context(), run, 0); err != nil {
		t.Fatal(err)
	}
	p.stop()
	state.ForgetClosed() // of an external server there is none at a start
	p = runProcess(t, state, func(s approvals.Store) approvals.Store { return slowLoad{s} })
	if run, err := p.gate.RunByID(t.Context(), "run-1"); err != nil || run.State != approvals.RunRunning {
		t.Errorf("the run is %s, %v", run.State, err)
	}
	stored, _, err := p.store.Runs().Get(t.Context(), "run-1")
	if err != nil || stored.State != approvals.RunRunning {
		t.Errorf("the record of the run is %s, %v", stored.State, err)
	}
}

// backdated reports a request as if it was written an hour ago.
type backdated struct {
	approvals.Store
	id string
}

func (b backdated) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	return b.Store.WatchRequests(ctx, func(s approvals.Stored) {
		if s.Request.ID == b.id {
			s.At = s.At.Add(-time.Hour)
		}
		changed(s)
	}, loaded)
}

// The events of a decision are written at a start, however long they could not be before.
func TestPromise4_RecordedFirst_EventsOfALongFailure(t *testing.T) {
	t.Parallel()
	state := approvalstest.OpenStore()
	var failing atomic.Bool
	p := runProcess(t, state, func(s approvals.Store) approvals.Store {
		return &faulty{Store: s, appendFails: failing.Load}
	})
	r := approvalstest.Request("x")
	id, later := approvalstest.Open(t, p.gate, r).Requests()[0].ID, approvalstest.Open(t, p.gate, r).Requests()[0].ID
	failing.Store(true)
	for _, one := range []string{id, later} {
		if _, err := p.gate.Decide(t.Context(), approvals.Decision{RequestID: one, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	p.stop()
	p = runProcess(t, state, func(s approvals.Store) approvals.Store { return backdated{s, id} })
	for _, one := range []string{later, id} {
		approvalstest.Eventually(t, "the decision is in the log", func() bool {
			return len(approvalstest.EventsOf(t, p.store, one)) == 2
		})
	}
}
