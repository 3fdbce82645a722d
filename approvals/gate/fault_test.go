package gate_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// Bots are asked about a request that is durable and in the log.
func TestPromise4_RecordedFirst_RequestBeforeItIsPublished(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	requests := []approvals.Request{approvalstest.Request("x")}
	published := 0
	g := gate.New(gate.Options{Store: &faulty{Store: s, publishFails: func() bool {
		published++
		if _, err := s.GetRequest(t.Context(), requests[0].ID); err != nil {
			t.Errorf("it is published before it is durable: %v", err)
		}
		if got := len(approvalstest.EventsOf(t, s, requests[0].ID)); got != 1 {
			t.Errorf("it is published with %d events in the log", got)
		}
		return false
	}}})
	g.Prepare(requests)
	approvalstest.Open(t, g, requests...)
	if published != 1 {
		t.Errorf("it is published %d times", published)
	}
}

// A hold ends after the decision is in the log: the release comes after it.
func TestPromise4_RecordedFirst_DecisionBeforeTheHoldEnds(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	f := &faulty{Store: s}
	g := gate.New(gate.Options{Store: f}) // never runs: no watch ends the hold
	h := approvalstest.Open(t, g, approvalstest.Request("x"))
	id, appended := h.Requests()[0].ID, 0
	f.appendFails = func() bool {
		appended++
		stored, err := s.GetRequest(t.Context(), id)
		if err != nil || stored.Request.Status != approvals.StatusApproved {
			t.Errorf("the log has the decision before it is durable: %s, %v", stored.Request.Status, err)
		}
		select {
		case <-h.Done():
			t.Error("the hold ends before the decision is in the log")
		default:
		}
		return false
	}
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
	if appended != 1 {
		t.Errorf("the log was written %d times", appended)
	}
}

// If a process dies between a decision and its event, the next start adds the event, once.
func TestPromise4_RecordedFirst_MissingEventIsAddedAtStart(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var down atomic.Bool
	dying := &faulty{Store: s, appendFails: down.Load, publishFails: down.Load}
	id := func() string {
		g := gate.New(gate.Options{Store: dying}) // never runs: nothing is retried
		h := approvalstest.Open(t, g, approvalstest.Request("x"))
		down.Store(true)
		id := h.Requests()[0].ID
		if r, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, ReviewerID: "bob", Note: "why"}); err != nil || r.Status != approvals.StatusDenied {
			t.Fatalf("%+v, %v", r, err)
		}
		approvalstest.Await(t, h.Done(), "the hold: the decision is durable")
		return id
	}()
	if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, id)); len(got) != 1 {
		t.Fatalf("before the restart: %v", got)
	}
	for range 2 { // two replicas find it missing at the same time
		approvalstest.RunGate(t, gate.Options{Store: s})
	}
	approvalstest.Eventually(t, "the event is in the log", func() bool { return len(approvalstest.EventsOf(t, s, id)) > 1 })
	approvalstest.RunGate(t, gate.Options{Store: s})
	time.Sleep(100 * time.Millisecond) // for what must not happen
	events := approvalstest.EventsOf(t, s, id)
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision}
	if diff := cmp.Diff(want, approvalstest.EventTypes(events)); diff != "" {
		t.Fatal(diff)
	}
	if e := events[1]; e.ReviewerID != "bob" || e.Note != "why" || e.Action != approvals.ActionDeny {
		t.Fatalf("the event is %+v", e)
	}
}

// If a replica dies during Open, another replica publishes the request.
func TestPromise4_RecordedFirst_AnotherReplicaPublishes(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	ctx := t.Context()
	r := approvalstest.Request("x")
	r.ID, r.Status = "01M7YQ38SZD730M2NG76HCR132", approvals.StatusPending
	r.CreatedAt, r.ExpiresAt = time.Now().UTC(), time.Now().UTC().Add(time.Hour)
	if _, err := s.CreateRequest(ctx, r); err != nil {
		t.Fatal(err)
	}
	published := make(chan string, 10)
	approvalstest.RunGate(t, gate.Options{Store: &publishSpy{s, published}})
	select {
	case id := <-published:
		if id != r.ID {
			t.Fatal(id)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the request was not published")
	}
	if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, r.ID)); !cmp.Equal(got, []approvals.EventType{approvals.EventApprovalRequired}) {
		t.Fatalf("events %v", got)
	}
}

type publishSpy struct {
	approvals.Store
	published chan<- string
}

func (p *publishSpy) PublishRequest(ctx context.Context, r approvals.Request) error {
	err := p.Store.PublishRequest(ctx, r)
	p.published <- r.ID
	return err
}

// A request that is recorded is held although it could not be published: people can decide
// it, and bots get it later.
func TestPromise12_AskedOnce_PublicationIsRepeated(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	published := make(chan string, 10)
	f := &faulty{Store: s}
	var calls atomic.Int32
	f.publishFails = func() bool { return calls.Add(1) == 1 }
	g := approvalstest.RunGate(t, gate.Options{Store: publishedBy{f, &publishSpy{s, published}}})
	h, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("a")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Detach()
	select {
	case id := <-published:
		if id != h.Requests()[0].ID {
			t.Error(id)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the request was not published")
	}
}

// publishedBy is a store that publishes by another, unless it fails.
type publishedBy struct {
	*faulty
	spy *publishSpy
}

func (p publishedBy) PublishRequest(ctx context.Context, r approvals.Request) error {
	if p.publishFails() {
		return approvals.ErrStoreUnavailable
	}
	return p.spy.PublishRequest(ctx, r)
}

// A request that was decided before its event failed gets its event later.
func TestPromise4_RecordedFirst_EventOfADecidedRequest(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	f := &faulty{Store: s}
	g := approvalstest.RunGate(t, gate.Options{Store: f})
	var failed atomic.Bool
	f.appendFails = func() bool { // the decision comes before the event
		if !failed.CompareAndSwap(false, true) {
			return false
		}
		page, err := g.Requests(t.Context(), approvals.Filter{})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%d requests, %v", len(page.Items), err)
			return true
		}
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: page.Items[0].ID, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
			t.Error(err)
		}
		return true
	}
	if _, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("a")}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	page, err := g.Requests(t.Context(), approvals.Filter{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d requests, %v", len(page.Items), err)
	}
	approvalstest.Eventually(t, "the event is written", func() bool {
		types := approvalstest.EventTypes(approvalstest.EventsOf(t, s, page.Items[0].ID))
		return slices.Contains(types, approvals.EventApprovalRequired) && slices.Contains(types, approvals.EventApprovalDecision)
	})
}

// While the store cannot be reached, nothing is decided. Requests expire when it is back.
func TestPromise7_NothingHangs_StoreAwayOverTheDeadline(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var down atomic.Bool
	f := &faulty{Store: s, getFails: down.Load}
	g := approvalstest.RunGate(t, gate.Options{Store: f})
	r := approvalstest.Request("x")
	r.ExpiresAt = time.Now().Add(200 * time.Millisecond)
	down.Store(true) // before Open: it may take longer than the deadline
	h := approvalstest.Open(t, g, r)
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatalf("decide: %v", err)
	}
	time.Sleep(time.Until(r.ExpiresAt) + 50*time.Millisecond)
	select {
	case <-h.Done():
		t.Fatal("the hold ended while the store could not be reached")
	default:
	}
	down.Store(false)
	approvalstest.Await(t, h.Done(), "the deadline")
	if got := h.Requests()[0].Status; got != approvals.StatusExpired || h.Err() != nil {
		t.Fatalf("%s, %v", got, h.Err())
	}
}

// If the store cannot be reached for long, the hold ends with an error.
func TestPromise7_NothingHangs_StoreNeverComesBack(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var down atomic.Bool
	var ahead atomic.Int64
	f := &faulty{Store: s, getFails: down.Load}
	g := approvalstest.RunGate(t, gate.Options{Store: f, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	h := approvalstest.Open(t, g, approvalstest.Request("x"))
	down.Store(true)
	ahead.Store(int64(time.Hour))
	approvalstest.Await(t, h.Done(), "the hold to be given up")
	if err := h.Err(); !errors.Is(err, approvals.ErrStoreUnavailable) || h.Requests()[0].Status.Final() {
		t.Fatalf("%v, %+v", err, h.Requests()[0])
	}
}

func TestPromise7_NothingHangs_CancelIsRetried(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var down atomic.Bool
	f := &faulty{Store: s, getFails: down.Load}
	g := approvalstest.RunGate(t, gate.Options{Store: f})
	h := approvalstest.Open(t, g, approvalstest.Request("x"))
	down.Store(true)
	if err := h.Cancel(t.Context(), "agent_gone"); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	down.Store(false)
	approvalstest.Await(t, h.Done(), "the cancellation")
	if r := h.Requests()[0]; r.Status != approvals.StatusCancelled || r.Details.CancelReason != "agent_gone" {
		t.Fatalf("%+v", r)
	}
}

var manyHolds = flag.Int("many", 300, "calls that are held at once; make load sets 2000")

func TestPromise7_NothingHangs_ManyHolds(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	n := *manyHolds
	holds := make([]*gate.Hold, n)
	var group sync.WaitGroup
	writers := make(chan struct{}, 100) // what a busy disk syncs within the limit of one write
	for i := range n {
		writers <- struct{}{}
		group.Go(func() {
			defer func() { <-writers }()
			h, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("x")})
			if err != nil {
				t.Error(err)
				return
			}
			holds[i] = h
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for i := range n {
		writers <- struct{}{}
		group.Go(func() {
			defer func() { <-writers }()
			action := approvals.ActionApprove
			if i%3 == 0 {
				action = approvals.ActionDeny
			}
			if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: holds[i].Requests()[0].ID, Action: action, ReviewerID: "bob"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i, h := range holds {
		approvalstest.Await(t, h.Done(), "a hold")
		want := approvals.StatusApproved
		if i%3 == 0 {
			want = approvals.StatusDenied
		}
		if got := h.Requests()[0].Status; got != want {
			t.Fatalf("hold %d: %s, want %s", i, got, want)
		}
	}
	if page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending}); err != nil || len(page.Items) != 0 {
		t.Fatalf("%d pending, %v", len(page.Items), err)
	}
}

// A request whose deadline passes while it is recorded ends by its on_timeout.
func TestADeadlineBeforeTheRecord(t *testing.T) {
	t.Parallel()
	looked := make(chan struct{}, 8)
	s := &faulty{Store: approvalstest.OpenStore()}
	s.getFails = func() bool { looked <- struct{}{}; return false }
	s.createFails = func() bool {
		for range 2 { // the second look shows that the first one has found nothing
			select {
			case <-looked:
			case <-time.After(5 * time.Second):
				return false
			}
		}
		return false
	}
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	late := approvalstest.Request("bash")
	late.ExpiresAt, late.OnTimeout = time.Now().Add(time.Millisecond), approvals.OnTimeoutApprove
	h := approvalstest.Open(t, g, late)
	approvalstest.Await(t, h.Done(), "the deadline")
	if r := h.Requests()[0]; h.Err() != nil || r.Status != approvals.StatusApproved {
		t.Errorf("status %s, error %v", r.Status, h.Err())
	}
}

// lateLook is a store whose first answer about a request, that it is unknown, arrives when the request has
// been recorded.
type lateLook struct {
	approvals.Store
	first   atomic.Bool
	looked  chan struct{} // closed by the first look
	arrives chan struct{} // the answer
}

func (s *lateLook) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	if s.first.CompareAndSwap(false, true) {
		close(s.looked)
		<-s.arrives
		return approvals.Stored{}, approvals.ErrUnknownRequest
	}
	return s.Store.GetRequest(ctx, id)
}

func (s *lateLook) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	<-s.looked
	return s.Store.CreateRequest(ctx, r)
}

// A request whose deadline passes while it is recorded ends by its on_timeout, also if the store answers
// late that it is unknown.
func TestADeadlineBeforeTheRecord_LateAnswer(t *testing.T) {
	t.Parallel()
	s := &lateLook{Store: approvalstest.OpenStore(), looked: make(chan struct{}), arrives: make(chan struct{})}
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	late := approvalstest.Request("bash")
	late.ExpiresAt, late.OnTimeout = time.Now().Add(time.Millisecond), approvals.OnTimeoutApprove
	h := approvalstest.Open(t, g, late)
	close(s.arrives)
	approvalstest.Await(t, h.Done(), "the deadline")
	if r := h.Requests()[0]; h.Err() != nil || r.Status != approvals.StatusApproved {
		t.Errorf("status %s, error %v", r.Status, h.Err())
	}
}

// A request that was never recorded is removed when the store is back.
func TestPromise7_NothingHangs_UnrecordedRequestIsRemoved(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	f := &faulty{Store: approvalstest.OpenStore(), createFails: down.Load, getFails: down.Load}
	registry := prometheus.NewRegistry()
	g := approvalstest.RunGate(t, gate.Options{Store: f, Registerer: registry})
	down.Store(true)
	if _, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("x")}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	down.Store(false)
	approvalstest.Eventually(t, "nothing waits", func() bool {
		return counted(t, registry, "heldcall_requests_pending")["heldcall_requests_pending"] == 0
	})
}
