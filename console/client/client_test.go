package client_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
)

// echoGate is the gate of a real console. It has the request "known", which ann denied,
// and answers every other decision and signal with its own content.
type echoGate struct {
	console.Gate // what these tests do not ask
	filter       approvals.Filter
	decision     approvals.Decision
	events       []approvals.Event
}

var denied = approvals.Request{
	ID: "known", Status: approvals.StatusDenied, ToolName: "rm", Arguments: []byte(`{"a":"<&>"}`),
	SuggestedPatterns: []string{}, Reviewers: []string{},
	Decisions: []approvals.Decision{{RequestID: "known", Action: approvals.ActionDeny, ReviewerID: "ann"}},
}

func (g *echoGate) Request(_ context.Context, id string) (approvals.Request, error) {
	if id != denied.ID {
		return approvals.Request{}, approvals.ErrUnknownRequest
	}
	return denied, nil
}

func (g *echoGate) Requests(_ context.Context, f approvals.Filter) (approvals.Page, error) {
	g.filter = f
	return approvals.Page{Items: []approvals.Request{denied}, NextCursor: "next"}, nil
}

func (g *echoGate) Decide(_ context.Context, d approvals.Decision) (approvals.Request, error) {
	g.decision = d
	switch d.RequestID {
	case denied.ID:
		return denied, &approvals.DecidedError{Request: denied}
	case "unknown":
		return approvals.Request{}, approvals.ErrUnknownRequest
	case "store":
		return approvals.Request{}, approvals.ErrStoreUnavailable
	case "edit":
		return approvals.Request{}, &approvals.InvalidError{Field: "modified_args", Reason: "n: want a number"}
	}
	return approvals.Request{ID: d.RequestID, Status: approvals.StatusApproved}, nil
}

func (g *echoGate) Signal(_ context.Context, s approvals.Signal) (approvals.Steered, error) {
	run := approvals.Run{ID: s.RunID, State: approvals.RunPaused, ReviewerID: s.ReviewerID}
	return approvals.Steered{Run: run, Known: true}, nil
}

func (g *echoGate) Runs() []approvals.Run { return nil }

func (g *echoGate) RunByID(context.Context, string) (approvals.Run, error) {
	return approvals.Run{}, approvals.ErrUnknownRun
}

func (g *echoGate) LastSeq(context.Context) (uint64, error) { return uint64(len(g.events)), nil }

func (g *echoGate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for _, event := range g.events {
			if event.Seq >= from && !yield(event, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// connect starts a console over the gate and returns a client of it and what
// stops the console.
func connect(t *testing.T, gate *echoGate, checks ...console.Check) (*client.Client, func()) {
	t.Helper()
	server, err := console.New(console.Options{Listen: "127.0.0.1:0", Gate: gate, Checks: checks})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	c, err := client.New("http://" + server.Addr() + "/")
	if err != nil {
		t.Fatal(err)
	}
	return c, stop
}

func TestClientReads(t *testing.T) {
	gate := &echoGate{}
	c, _ := connect(t, gate)
	got, err := c.Request(t.Context(), "known")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(denied, got); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Request(t.Context(), "other"); !errors.Is(err, approvals.ErrUnknownRequest) {
		t.Errorf("an unknown request gives %v", err)
	}
	filter := approvals.Filter{Status: "pending", Kind: "permission", SessionID: "a&b", RunID: "r", Risk: "low", Text: "a&b c", Cursor: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Limit: 3}
	page, err := c.Requests(t.Context(), filter)
	if err != nil || page.NextCursor != "next" || len(page.Items) != 1 {
		t.Errorf("page is %+v, %v", page, err)
	}
	if diff := cmp.Diff(filter, gate.filter); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Requests(t.Context(), approvals.Filter{Risk: "huge"}); err == nil || !strings.Contains(err.Error(), `risk: "huge"`) {
		t.Errorf("a filter that is not known gives %v", err)
	}
}

func TestClientDecides(t *testing.T) {
	gate := &echoGate{}
	c, _ := connect(t, gate)
	decision := approvals.Decision{RequestID: "new", Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"a":"<&>","n":1.0}`), Note: "n"}
	request, err := c.Decide(t.Context(), decision)
	if err != nil || request.Status != approvals.StatusApproved {
		t.Errorf("answer is %+v, %v", request, err)
	}
	decision.ReviewerID, decision.ReviewerGroups, decision.Channel = "local", []string{approvals.EveryGroup}, "rest"
	if diff := cmp.Diff(decision, gate.decision); diff != "" {
		t.Error(diff)
	}

	decide := func(id string) error {
		_, err := c.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove})
		return err
	}
	decided := (*approvals.DecidedError)(nil)
	if err := decide("known"); !errors.As(err, &decided) || cmp.Diff(denied, decided.Request) != "" {
		t.Errorf("the second decision returns %v", err)
	}
	if err := decide("unknown"); !errors.Is(err, approvals.ErrUnknownRequest) {
		t.Errorf("an unknown request gives %v", err)
	}
	if err := decide("store"); !errors.Is(err, approvals.ErrStoreUnavailable) || strings.Count(err.Error(), "store") != 1 {
		t.Errorf("a store that is gone gives %v", err)
	}
	invalid := (*approvals.InvalidError)(nil)
	if err := decide("edit"); !errors.As(err, &invalid) || *invalid != (approvals.InvalidError{Field: "modified_args", Reason: "n: want a number"}) {
		t.Errorf("an invalid edit gives %v", err)
	}
	_, err = c.Decide(t.Context(), approvals.Decision{RequestID: "new", Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{`)})
	if !errors.As(err, &invalid) || invalid.Field != "modified_args" {
		t.Errorf("arguments that are no JSON give %v", err)
	}
}

func TestClientSignals(t *testing.T) {
	c, _ := connect(t, &echoGate{})
	run, err := c.Runs().Signal(t.Context(), approvals.Signal{RunID: "a/b", Action: approvals.SignalPause})
	if err != nil || run.ID != "a/b" || run.ReviewerID != "local" || !run.Known {
		t.Errorf("run is %+v, %v", run, err)
	}
}

func TestClientFollowsEvents(t *testing.T) {
	gate := &echoGate{events: []approvals.Event{
		{Seq: 1, Type: approvals.EventApprovalRequired}, {Seq: 2, Type: approvals.EventApprovalDecision, Note: "two\nlines"}, {Seq: 3},
	}}
	c, stop := connect(t, gate)
	var seen []approvals.Event
	for event, err := range c.Events(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if seen = append(seen, event); len(seen) == 2 {
			break
		}
	}
	if diff := cmp.Diff(gate.events[1:], seen); diff != "" {
		t.Error(diff)
	}
	var last error
	for event, err := range c.Events(t.Context(), 2) {
		if event.Seq == 3 {
			stop()
		}
		last = err
	}
	if last == nil {
		t.Error("the end of the console is no error")
	}
}

func TestClientSaysWhatIsNotReady(t *testing.T) {
	c, _ := connect(t, &echoGate{}, console.Check{Name: "store", Check: func(context.Context) error { return errors.New("gone") }})
	p := (*problem.Problem)(nil)
	if err := c.Ready(t.Context()); !errors.As(err, &p) || len(p.Checks) != 1 || p.Checks[0].Error != "gone" {
		t.Errorf("readiness is %v", err)
	}
	c, _ = connect(t, &echoGate{})
	if err := c.Ready(t.Context()); err != nil {
		t.Errorf("readiness is %v", err)
	}
}

func TestClientFindsNoHeldcall(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	ln.Close()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	unreachable := (*client.UnreachableError)(nil)
	if err := c.Ready(t.Context()); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), url) || !strings.Contains(err.Error(), "heldcall serve") {
		t.Errorf("the error is %v", err)
	}

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if c, err = client.New(other.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request(t.Context(), "known"); err == nil || errors.Is(err, approvals.ErrUnknownRequest) || !strings.Contains(err.Error(), "is another program there?") {
		t.Errorf("another program's 404 returns %v", err)
	}
	for _, url := range []string{"", "127.0.0.1:4142", "ftp://x", "http://"} {
		if _, err := client.New(url); err == nil {
			t.Errorf("URL %q was accepted", url)
		}
	}
}
