package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListRequests(t *testing.T) {
	gate := &scriptedGate{}
	url := start(t, gate, nil)

	_, _, body := ask(t, "GET", url+"/api/v1/requests", "")
	if want := `{"items":[],"next_cursor":""}` + "\n"; body != want {
		t.Errorf("an empty list is %q, want %q", body, want)
	}

	gate.page = approvals.Page{NextCursor: "c2", Items: []approvals.Request{{ID: "A", ToolName: "<b>&", Arguments: []byte(`{"a": "<\u0041>", "n": 1.0}`)}}}
	_, header, body := ask(t, "GET", url+"/api/v1/requests?status=pending&kind=permission&session_id=s&run_id=r&risk=high&q=two+words&cursor=01ARZ3NDEKTSV4RRFFQ69G5FAV&limit=7", "")
	want := approvals.Filter{Status: "pending", Kind: "permission", SessionID: "s", RunID: "r", Risk: "high", Text: "two words", Cursor: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Limit: 7}
	if diff := cmp.Diff(want, gate.filter); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{`"next_cursor":"c2"`, `"tool_name":"<b>&"`, `"arguments":{"a":"<\u0041>","n":1.0}`, `"suggested_patterns":[]`, `"decisions":[]`} {
		if !strings.Contains(body, part) {
			t.Errorf("the list lacks %s: %s", part, body)
		}
	}
	if header.Get("Content-Type") != "application/json" || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers are %v", header)
	}
}

func TestListRequestsRefusesWhatItDoesNotKnow(t *testing.T) {
	gate := &scriptedGate{}
	url := start(t, gate, nil)
	for _, query := range []string{"statuss=pending", "status=open", "kind=x", "risk=x", "cursor=x", "limit=0", "limit=501", "limit=x", "status=pending&status=denied", "a=%zz"} {
		status, header, body := ask(t, "GET", url+"/api/v1/requests?"+query, "")
		wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
	}
	gate.err = &approvals.InvalidError{Field: "cursor", Reason: "is not one of ours"}
	status, header, body := ask(t, "GET", url+"/api/v1/requests?cursor=01ARZ3NDEKTSV4RRFFQ69G5FAV", "")
	wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
}

func TestDecide(t *testing.T) {
	gate := &scriptedGate{request: approvals.Request{ID: "01A", Status: approvals.StatusApproved}}
	url := start(t, gate, nil)
	status, _, body := ask(t, "POST", url+"/api/v1/requests/01A/decision",
		`{"action":"modify_args","modified_args":{"x": "<1>"},"note":"n","reviewer_id":"mallory","channel":"forged"}`)
	if status != 200 || !strings.Contains(body, `"status":"approved"`) {
		t.Errorf("answer is %d %s", status, body)
	}
	want := approvals.Decision{RequestID: "01A", Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"x": "<1>"}`), Note: "n", ReviewerID: "local", ReviewerGroups: []string{approvals.EveryGroup}, Channel: "rest"}
	if diff := cmp.Diff(want, gate.decision); diff != "" {
		t.Errorf("the gate was asked to decide otherwise:\n%s", diff)
	}
}

func TestErrorsOfTheGate(t *testing.T) {
	gate := &scriptedGate{}
	url := start(t, gate, nil)
	f := func(err error, wantStatus int, wantCode string) problem.Problem {
		t.Helper()
		gate.err = fmt.Errorf("while testing: %w", err)
		status, header, body := ask(t, "POST", url+"/api/v1/requests/01A/decision", `{"action":"approve"}`)
		p := wantProblem(t, status, header, body, wantStatus, wantCode)
		if status, header, body := ask(t, "GET", url+"/api/v1/requests/01A", ""); status != wantStatus {
			t.Errorf("reading answers %d %v %s", status, header, body)
		}
		return p
	}
	f(approvals.ErrUnknownRequest, 404, problem.CodeNotFound)
	f(approvals.ErrStoreUnavailable, 503, problem.CodeStoreUnavailable)
	f(approvals.ErrTooLarge, 413, problem.CodeTooLarge)
	if p := f(&approvals.InvalidError{Field: "modified_args", Reason: "does not fit"}, 422, problem.CodeInvalid); p.Field != "modified_args" || p.Reason != "does not fit" {
		t.Errorf("the problem has no field and reason: %+v", p)
	}
	if p := f(errors.New("hunter2 was wrong"), 500, problem.CodeInternal); strings.Contains(p.Detail, "hunter2") {
		t.Errorf("an inner error is shown: %s", p.Detail)
	}
	ann := approvals.Decision{RequestID: "01A", Action: approvals.ActionDeny, ReviewerID: "ann", Note: "no"}
	p := f(&approvals.DecidedError{Request: approvals.Request{ID: "01A", Status: approvals.StatusDenied, Decisions: []approvals.Decision{ann}}}, 409, problem.CodeAlreadyDecided)
	if p.Request == nil || p.Request.Status != "denied" || p.Decision == nil || p.Decision.ReviewerID != "ann" || p.Detail != "request 01A was already denied by ann" {
		t.Errorf("the second decision does not get the first: %+v", p)
	}
	p = f(&approvals.DecidedError{Request: approvals.Request{ID: "01A", Status: approvals.StatusExpired}}, 409, problem.CodeAlreadyDecided)
	if p.Decision != nil || p.Request.Status != "expired" {
		t.Errorf("the problem of an expired request is %+v", p)
	}
}

func TestDecideRefusesBadPayloads(t *testing.T) {
	gate := &scriptedGate{}
	url := start(t, gate, nil)
	f := func(id, body string, wantStatus int, wantCode string) {
		t.Helper()
		status, header, answer := ask(t, "POST", url+"/api/v1/requests/"+id+"/decision", body)
		wantProblem(t, status, header, answer, wantStatus, wantCode)
	}
	f("01A", ``, 422, problem.CodeInvalid)
	f("01A", `{"action":"approve","action":"deny"}`, 422, problem.CodeInvalid)
	f("01A", "{\"action\":\"deny\",\"note\":\"\xff\"}", 422, problem.CodeInvalid)
	f("01A", `{"action":"approve","request_id":"01B"}`, 422, problem.CodeInvalid)
	f("01A", `{"note":"`+strings.Repeat("x", maxBody)+`"}`, 413, problem.CodeTooLarge)
	f("a.b", `{"action":"approve"}`, 404, problem.CodeNotFound)
	f("%3E", `{"action":"approve"}`, 404, problem.CodeNotFound)
	if gate.decision.Action != "" {
		t.Errorf("the gate was asked: %+v", gate.decision)
	}
}

func TestDecideSeveral(t *testing.T) {
	gate := &batchGate{}
	url := start(t, gate, nil)
	status, _, body := ask(t, "POST", url+"/api/v1/decisions",
		`{"decisions":[{"request_id":"01A","action":"approve"},{"request_id":"taken","action":"deny"},{"action":"deny"},{"request_id":"01B","action":"deny"},{"request_id":"*","action":"deny"},7]}`)
	var got struct{ Items []outcome }
	if err := json.Unmarshal([]byte(body), &got); status != 200 || err != nil {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	var told []string
	for _, item := range got.Items {
		if item.Request != nil {
			told = append(told, fmt.Sprint(item.Status, " ", item.Request.ID))
		} else {
			told = append(told, fmt.Sprint(item.Status, " ", item.Problem.Code))
		}
	}
	if diff := cmp.Diff([]string{"200 01A", "409 already_decided", "422 invalid", "200 01B", "404 not_found", "422 invalid"}, told); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{"decisions":[]}`, `[]`, `{"decisions":[{}],"x":1}`, `{"decisions":[` + strings.Repeat(`{},`, maxBatch) + `{}]}`} {
		status, header, answer := ask(t, "POST", url+"/api/v1/decisions", body)
		wantProblem(t, status, header, answer, 422, problem.CodeInvalid)
	}
}

// batchGate decides everything but the request "taken".
type batchGate struct{ scriptedGate }

func (g *batchGate) Decide(_ context.Context, d approvals.Decision) (approvals.Request, error) {
	r := approvals.Request{ID: d.RequestID, Status: approvals.StatusApproved}
	if d.RequestID == "taken" {
		return r, &approvals.DecidedError{Request: r}
	}
	return r, nil
}

// Lists are in memory: an empty list is an error while the store is not available.
func TestEmptyListNeedsTheStore(t *testing.T) {
	gate := &scriptedGate{page: approvals.Page{Items: []approvals.Request{}}, reading: approvals.ErrUnknownRequest}
	url := start(t, gate, nil) + "/api/v1/requests"
	if status, _, body := ask(t, "GET", url, ""); status != 200 || body != `{"items":[],"next_cursor":""}`+"\n" {
		t.Errorf("no requests are %d %s", status, body)
	}
	gate.reading = fmt.Errorf("read heldcall_requests/x: %w", approvals.ErrStoreUnavailable)
	status, header, body := ask(t, "GET", url, "")
	p := wantProblem(t, status, header, body, 503, problem.CodeStoreUnavailable)
	if want := "heldcall's store (NATS) is not available; see heldcall's log"; p.Detail != want {
		t.Errorf("the detail is %q", p.Detail)
	}
	gate.err = approvals.ErrStoreUnavailable
	status, header, body = ask(t, "POST", url+"/01A/decision", `{"action":"approve"}`)
	p = wantProblem(t, status, header, body, 503, problem.CodeStoreUnavailable)
	if !strings.HasPrefix(p.Detail, "heldcall's store (NATS) does not answer (see heldcall's log)") {
		t.Errorf("the detail is %q", p.Detail)
	}
}

func TestRuns(t *testing.T) {
	gate := &scriptedGate{run: approvals.Run{ID: "r 1", State: approvals.RunPaused}}
	url := start(t, gate, nil)
	status, _, body := ask(t, "POST", url+"/api/v1/runs/r%201/signal", `{"action":"pause_run","reviewer_id":"mallory"}`)
	if status != 200 || !strings.Contains(body, `"state":"paused"`) || !strings.Contains(body, `"known":false`) {
		t.Errorf("answer is %d %s", status, body)
	}
	if diff := cmp.Diff(approvals.Signal{RunID: "r 1", Action: approvals.SignalPause, ReviewerID: "local"}, gate.signal); diff != "" {
		t.Error(diff)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/runs", ""); body != `{"items":[],"next_cursor":""}`+"\n" {
		t.Errorf("no runs are %s", body)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/runs/r%201", ""); !strings.Contains(body, `"id":"r 1"`) {
		t.Errorf("the run is %s", body)
	}
	for _, body := range []string{`{"action":"pause_run","run_id":"other"}`, `{"action":"pause_run","x":1}`, `[]`} {
		status, header, answer := ask(t, "POST", url+"/api/v1/runs/r/signal", body)
		wantProblem(t, status, header, answer, 422, problem.CodeInvalid)
	}
	gate.err = approvals.ErrUnknownRun
	status, header, body := ask(t, "GET", url+"/api/v1/runs/r", "")
	wantProblem(t, status, header, body, 404, problem.CodeNotFound)
}

func TestRoutesThatAreNotThere(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	status, header, body := ask(t, "GET", url+"/api/v2", "")
	wantProblem(t, status, header, body, 404, problem.CodeNotFound)
	status, header, body = ask(t, "DELETE", url+"/api/v1/requests/01A", "")
	wantProblem(t, status, header, body, 405, problem.CodeMethodNotAllowed)
	if header.Get("Allow") != "GET" {
		t.Errorf("Allow is %q", header.Get("Allow"))
	}
	status, header, body = ask(t, "GET", url+"/", "")
	if status != 200 || !strings.Contains(body, "heldcall approve ID") || !strings.Contains(body, "/api/v1/requests/{id}/decision") {
		t.Errorf("the page at / is %d %v %s", status, header, body)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	var store, channels error
	url := start(t, &scriptedGate{}, func(o *Options) {
		o.Checks = []Check{
			{Name: "canary", Check: func(context.Context) error { return nil }},
			{Name: "store", Check: func(context.Context) error { return store }},
			{Name: "channels", Check: func(context.Context) error { return channels }, Advisory: true},
		}
	})
	if status, _, body := ask(t, "GET", url+"/healthz", ""); status != 200 || body != `{"status":"ok"}`+"\n" {
		t.Errorf("health is %d %s", status, body)
	}
	if status, _, body := ask(t, "GET", url+"/readyz", ""); status != 200 || body != `{"checks":[{"name":"canary","ok":true},{"name":"store","ok":true},{"name":"channels","ok":true}],"status":"ready"}`+"\n" {
		t.Errorf("readiness is %d %s", status, body)
	}
	channels = errors.New("slack: not_in_channel")
	if status, _, body := ask(t, "GET", url+"/readyz", ""); status != 200 || !strings.Contains(body, `{"name":"channels","ok":false,"error":"slack: not_in_channel"}],"status":"ready"}`) {
		t.Errorf("readiness with an advisory failure is %d %s", status, body)
	}
	store = errors.New("no connection")
	status, header, body := ask(t, "GET", url+"/readyz", "")
	p := wantProblem(t, status, header, body, 503, problem.CodeNotReady)
	want := []problem.Check{{Name: "canary", OK: true}, {Name: "store", Error: "no connection"}, {Name: "channels", Error: "slack: not_in_channel"}}
	if diff := cmp.Diff(want, p.Checks); diff != "" {
		t.Error(diff)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	url := start(t, &scriptedGate{}, func(o *Options) { o.Registerer, o.Gatherer = registry, registry })
	ask(t, "GET", url+"/api/v1/requests/01A", "")
	ask(t, "INVENTED", url+"/api/v1/nothing", "")
	_, _, body := ask(t, "GET", url+"/metrics", "")
	for _, want := range []string{
		`heldcall_console_requests_total{method="GET",route="/api/v1/requests/{id}",status="200"} 1`,
		`heldcall_console_requests_total{method="other",route="unknown",status="404"} 1`,
		`heldcall_console_event_streams 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s:\n%s", want, body)
		}
	}
}
