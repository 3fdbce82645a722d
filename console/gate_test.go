package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// front is a real console with the real gate.
type front struct {
	gate *gate.Gate
	url  string
	*client.Client
}

func openFront(t *testing.T) front {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := memstore.New(memstore.Options{})
	registry := prometheus.NewRegistry()
	gate := gate.New(gate.Options{Store: s.ForGate(), Registerer: registry})
	ran := make(chan error, 1)
	go func() { ran <- gate.Run(ctx) }()
	<-gate.Ready()
	server, err := console.New(console.Options{Listen: "127.0.0.1:0", Gate: gate, Registerer: registry, Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		if err := errors.Join(<-ran, s.Close()); err != nil {
			t.Error(err)
		}
	})
	url := "http://" + server.Addr()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return front{gate, url, c}
}

// hold asks about calls of one turn.
func (f front) hold(t *testing.T, arguments ...string) *gate.Hold {
	t.Helper()
	requests := make([]approvals.Request, len(arguments))
	for i, text := range arguments {
		requests[i] = approvals.Request{
			Kind: approvals.KindPermission, ToolName: "bash", Arguments: []byte(text), RunID: "r", SessionID: "s", RiskLevel: approvals.RiskHigh,
			Tool: approvals.Tool{Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"}}}`)},
		}
	}
	hold, err := f.gate.Open(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	return hold
}

// awaitEnd waits until every request of a hold has ended.
func awaitEnd(t *testing.T, hold *gate.Hold) {
	t.Helper()
	select {
	case <-hold.Done():
	case <-time.After(time.Minute):
		t.Fatal("the hold does not end")
	}
}

// post sends a body and returns the answer.
func (f front) post(t *testing.T, path, body string) (int, []byte) {
	t.Helper()
	response, err := http.Post(f.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, content
}

// Promise 5: the first decision wins; later ones get it in their error.
func TestOnceDecidedOverREST(t *testing.T) {
	f := openFront(t)
	id := f.hold(t, `{"command":"ls"}`).Requests()[0].ID
	const reviewers = 16
	statuses := make([]int, reviewers)
	bodies := make([][]byte, reviewers)
	var all sync.WaitGroup
	for i := range reviewers {
		action := []string{"approve", "deny"}[i%2]
		all.Go(func() {
			response, err := http.Post(f.url+"/api/v1/requests/"+id+"/decision", "application/json", strings.NewReader(`{"action":"`+action+`"}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			statuses[i] = response.StatusCode
			bodies[i], _ = io.ReadAll(response.Body)
		})
	}
	all.Wait()
	final, err := f.Request(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	winner, _ := final.FinalDecision()
	wins := 0
	for i, status := range statuses {
		switch status {
		case 200:
			wins++
		case 409:
			var p problem.Problem
			if err := json.Unmarshal(bodies[i], &p); err != nil || p.Decision == nil || p.Decision.Action != winner.Action || p.Request.Status != final.Status {
				t.Errorf("a later decision returns %s (%v)", bodies[i], err)
			}
		default:
			t.Errorf("an answer is %d %s", status, bodies[i])
		}
	}
	if wins != 1 || len(final.Decisions) != 1 {
		t.Errorf("%d reviewers won; recorded are %d decisions", wins, len(final.Decisions))
	}
}

func TestDecisionOverRESTWakesTheHold(t *testing.T) {
	f := openFront(t)
	hold := f.hold(t, `{"command":"a <b> && c"}`, `{"command":"rm"}`, `{"command":"mv"}`)
	ids := hold.Requests()
	status, body := f.post(t, "/api/v1/decisions", `{"decisions":[
		{"request_id":"`+ids[0].ID+`","action":"modify_args","modified_args":{"command":"a <c>"},"reviewer_id":"mallory"},
		{"request_id":"`+ids[1].ID+`","approved":false,"note":"no"},
		{"request_id":"`+ids[2].ID+`","action":"modify_args","modified_args":{"command":7}}]}`)
	var answer struct {
		Items []struct {
			Status  int
			Problem *problem.Problem
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || status != 200 || len(answer.Items) != 3 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	if got := []int{answer.Items[0].Status, answer.Items[1].Status, answer.Items[2].Status}; cmp.Diff([]int{200, 200, 422}, got) != "" {
		t.Errorf("the batch is answered %v: %s", got, body)
	}
	if p := answer.Items[2].Problem; p == nil || !strings.HasPrefix(p.Field, "modified_args") || p.Reason == "" {
		t.Errorf("an edit that does not fit the schema returns %s", body)
	}
	if _, err := f.Decide(t.Context(), approvals.Decision{RequestID: ids[2].ID, Action: approvals.ActionApprove}); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, hold)
	var outcomes []string
	for _, r := range hold.Requests() {
		d, _ := r.FinalDecision()
		outcomes = append(outcomes, string(r.Status)+" "+d.ReviewerID+" "+d.Channel+" "+string(d.ModifiedArgs)+d.Note)
	}
	want := []string{`approved local rest {"command":"a <c>"}`, "denied local rest no", "approved local rest "}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestListPagesThroughRealRequests(t *testing.T) {
	f := openFront(t)
	if page, err := f.Requests(t.Context(), approvals.Filter{}); err != nil || page.Items == nil || len(page.Items) != 0 {
		t.Errorf("an empty list is %+v, %v", page, err)
	}
	for range 5 {
		f.hold(t, `{"command":"ls"}`)
	}
	var ids []string
	filter := approvals.Filter{Status: approvals.StatusPending, RunID: "r", SessionID: "s", Limit: 2}
	for pages := 1; ; pages++ {
		page, err := f.Requests(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			if pages != 3 {
				t.Errorf("five requests came in %d pages of two", pages)
			}
			break
		}
	}
	if len(ids) != 5 {
		t.Errorf("listed are %v", ids)
	}
	response, err := http.Get(f.url + "/api/v1/requests?cursor=%00forged")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 400 || response.Header.Get("Content-Type") != problem.ContentType {
		t.Errorf("a cursor that is none is answered %s", response.Status)
	}
}

func TestEventsOverRESTResume(t *testing.T) {
	f := openFront(t)
	id := f.hold(t, `{"command":"ls"}`).Requests()[0].ID
	if _, err := f.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, Note: "<why>"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var first, second approvals.Event
	for event, err := range f.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == approvals.EventApprovalRequired {
			first = event
			break
		}
	}
	for event, err := range f.Events(ctx, int64(first.Seq)) {
		if err != nil {
			t.Fatal(err)
		}
		second = event
		break
	}
	if second.Seq != first.Seq+1 || second.Type != approvals.EventApprovalDecision || second.RequestID != id || second.ReviewerID != "local" || second.Note != "<why>" {
		t.Errorf("after %d comes %+v", first.Seq, second)
	}
}

func TestSignalOverREST(t *testing.T) {
	f := openFront(t)
	hold := f.hold(t, `{"command":"ls"}`)
	if run, err := f.Runs().Signal(t.Context(), approvals.Signal{RunID: "r", Action: approvals.SignalAbort}); err != nil || run.State != approvals.RunAborted || run.ReviewerID != "local" || !run.Known {
		t.Fatalf("run is %+v, %v", run, err)
	}
	if run, err := f.Runs().Signal(t.Context(), approvals.Signal{RunID: "misspelt", Action: approvals.SignalAbort}); err != nil || run.State != approvals.RunAborted || run.Known {
		t.Errorf("an unknown run is %+v, %v", run, err)
	}
	awaitEnd(t, hold)
	if r := hold.Requests()[0]; r.Status != approvals.StatusCancelled {
		t.Errorf("a request of an aborted run is %s", r.Status)
	}
	response, err := http.Get(f.url + "/api/v1/runs")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Contains(content, []byte(`"state":"aborted"`)) {
		t.Errorf("the runs are %s, %v", content, err)
	}
}
