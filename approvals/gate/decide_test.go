package gate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

func TestPromise10_SilenceIsNotRefusal_Timeouts(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	deny, approve := approvalstest.Request("deny"), approvalstest.Request("approve")
	deny.ExpiresAt = time.Now().Add(150 * time.Millisecond)
	approve.ExpiresAt, approve.OnTimeout = deny.ExpiresAt, approvals.OnTimeoutApprove
	h := approvalstest.Open(t, g, deny, approve)
	approvalstest.Await(t, h.Done(), "both deadlines")
	now := h.Requests()
	if now[0].Status != approvals.StatusExpired || len(now[0].Decisions) != 0 {
		t.Errorf("deny: %+v", now[0])
	}
	if d, _ := now[1].FinalDecision(); now[1].Status != approvals.StatusApproved || d.ReviewerID != approvals.ReviewerTimeout {
		t.Errorf("approve: %+v", now[1])
	}
	for i, want := range []approvals.EventType{approvals.EventApprovalExpired, approvals.EventApprovalDecision} {
		if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, now[i].ID)); len(got) != 2 || got[1] != want {
			t.Errorf("events %v", got)
		}
	}
}

// A decision after the deadline loses, even if the gate does not run.
func TestPromise5_DecidedOnce_LateDecisionLoses(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := gate.New(gate.Options{Store: s})
	r := approvalstest.Request("x")
	r.ExpiresAt = time.Now().Add(20 * time.Millisecond)
	h := approvalstest.Open(t, g, r)
	time.Sleep(30 * time.Millisecond)
	_, err := g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"})
	var decided *approvals.DecidedError
	if !errors.As(err, &decided) || decided.Request.Status != approvals.StatusExpired {
		t.Fatalf("%v", err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

func TestDecisionsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s, CheckEdit: func(_ approvals.Request, args json.RawMessage) ([]approvals.Demand, error) {
		switch text := string(args); {
		case strings.Contains(text, "secrets"):
			return nil, &approvals.InvalidError{Field: "modified_args", Reason: "denied by policy.yaml:7"}
		case strings.Contains(text, "for others"):
			return []approvals.Demand{{Rule: "policy.yaml:8", Reviewers: []string{"security"}, RequiredApprovals: 1}}, nil
		case strings.Contains(text, "for two"):
			return []approvals.Demand{{Rule: "policy.yaml:9", RequiredApprovals: 2}}, nil
		}
		return nil, nil
	}})
	text := approvalstest.Request("text")
	text.Details.FreeText = true
	text.Arguments = json.RawMessage(`"ls"`)
	quorum := approvalstest.Request("quorum")
	quorum.RequiredApprovals = 2
	noRun := approvalstest.Request("no run")
	noRun.RunID = ""
	keyed := approvalstest.Request("passkey")
	keyed.Details.Passkey = true
	held := approvalstest.Open(t, g, approvalstest.Request("x"), text, quorum, noRun, keyed).Requests()
	x, txt, quo, run, key := held[0].ID, held[1].ID, held[2].ID, held[3].ID, held[4].ID
	modify := func(id, args string) approvals.Decision {
		return approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ReviewerID: "bob", ModifiedArgs: json.RawMessage(args)}
	}
	for _, c := range []struct {
		d             approvals.Decision
		field, reason string
	}{
		{approvals.Decision{RequestID: x, Action: approvals.ActionApprove}, "reviewer_id", ""},
		{approvals.Decision{RequestID: x, Action: approvals.ActionApprove, ReviewerID: "timeout"}, "reviewer_id", ""},
		{approvals.Decision{RequestID: x, ReviewerID: "bob"}, "action", "missing"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: "maybe"}, "action", "is not known"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: approvals.ActionAllowAlways}, "action", "not to be remembered"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: approvals.ActionDenyAlways}, "action", "not to be remembered"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: approvals.ActionAnswer}, "answer", "not answered"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: approvals.ActionApprove, Response: approvals.Response{Answer: "yes"}}, "answer", "needs the action"},
		{approvals.Decision{RequestID: x, ReviewerID: "bob", Action: approvals.ActionApprove, ModifiedArgs: json.RawMessage(`{}`)}, "modified_args", "modify_args"},
		{approvals.Decision{RequestID: key, ReviewerID: "bob", Action: approvals.ActionApprove, Passkey: "made up", Assertion: []byte(`{}`)}, "assertion", "needs a passkey"},
		{modify(key, `{"path":"b"}`), "assertion", "needs a passkey"},
		{modify(x, ``), "modified_args", "needs them"},
		{modify(x, `{"path":"a","path":"b"}`), "modified_args", "strict JSON"},
		{modify(x, `{"path":"a"} x`), "modified_args", "strict JSON"},
		{modify(x, "{\"path\":\"\xff\"}"), "modified_args", "strict JSON"},
		{modify(x, `["a"]`), "modified_args", "object"},
		{modify(x, `{"n":1}`), "modified_args", "missing property"},
		{modify(x, `{"path":"a","n":1.5}`), "modified_args", "at /n"},
		{modify(x, `{"path":"a","extra":1}`), "modified_args", "additional"},
		{modify(x, `{"path":"secrets"}`), "modified_args", "policy.yaml:7"},
		{modify(x, `{"path":"for two"}`), "modified_args", "2 approvals are required of such arguments (policy.yaml:9)"},
		{modify(txt, `{"path":"a"}`), "modified_args", "string"},
		{modify(quo, `{"path":"a"}`), "action", "2 approvals"},
		{approvals.Decision{RequestID: run, ReviewerID: "bob", Action: approvals.ActionAbortRun}, "action", "no run"},
	} {
		_, err := g.Decide(t.Context(), c.d)
		var invalid *approvals.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.Contains(invalid.Reason, c.reason) {
			t.Errorf("%s %s: %v; want %s: …%s…", c.d.Action, c.d.ModifiedArgs, err, c.field, c.reason)
		}
	}
	for _, r := range held {
		if now, err := g.Request(t.Context(), r.ID); err != nil || now.Status != approvals.StatusPending || len(now.Decisions) != 0 {
			t.Errorf("%s after refused decisions: %+v, %v", r.ToolName, now, err)
		}
	}
	for _, id := range []string{"", "x", "../x", "01M7YQ38SZD730M2NG76HCR132"} {
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, ReviewerID: "bob"}); !errors.Is(err, approvals.ErrUnknownRequest) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func TestModifyRecordsBothArguments(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	text := approvalstest.Request("text")
	text.Details.FreeText = true
	text.Arguments = json.RawMessage(`"ls"`)
	h := approvalstest.Open(t, g, approvalstest.Request("x"), text)
	edits := []string{`{"path":"<safe>&","n":9007199254740993}`, `"ls -l \u003c"`}
	for i, r := range h.Requests() {
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, ReviewerID: "bob", ModifiedArgs: json.RawMessage(edits[i])}); err != nil {
			t.Fatal(err)
		}
	}
	approvalstest.Await(t, h.Done(), "the hold")
	for i, r := range h.Requests() {
		if d, _ := r.FinalDecision(); r.Status != approvals.StatusApproved || string(d.ModifiedArgs) != edits[i] {
			t.Errorf("%+v", r)
		}
		e := approvalstest.EventsOf(t, s, r.ID)[1]
		if string(e.Before) != string(r.Arguments) || string(e.After) != edits[i] {
			t.Errorf("event: before %s, after %s", e.Before, e.After)
		}
	}
}

func TestUnusableSchemasAreFlagged(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	for schema, usable := range map[string]bool{
		``:     true,
		`null`: true,
		`{}`:   true,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`: true,
		`{"type":7}`:                                             false,
		`"object"`:                                               false,
		`{"$ref":"http://127.0.0.1:1/x.json"}`:                   false,
		`{"$ref":"file:///etc/hostname"}`:                        false,
		`{"properties":{"a":{"pattern":"(?<"}}}`:                 false,
		`{"description":"` + strings.Repeat("x", 300<<10) + `"}`: false,
	} {
		r := approvalstest.Request("x")
		r.Tool.Parameters = json.RawMessage(schema)
		h := approvalstest.Open(t, g, r)
		now := h.Requests()[0]
		if (len(now.Details.Flags) == 0) != usable {
			t.Errorf("%.60s: flags %v", schema, now.Details.Flags)
		}
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: now.ID, Action: approvals.ActionModifyArgs, ReviewerID: "bob", ModifiedArgs: json.RawMessage(`{"any":1}`)}); err != nil {
			t.Errorf("%.60s: %v", schema, err)
		}
	}
}

func TestPromise5_DecidedOnce_QuorumNeedsDifferentReviewers(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	r := approvalstest.Request("x")
	r.RequiredApprovals = 3
	h := approvalstest.Open(t, g, r, r)
	id := h.Requests()[0].ID
	decide := func(id, reviewer string, action approvals.Action) (approvals.Request, error) {
		return g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: action, ReviewerID: reviewer})
	}
	for _, reviewer := range []string{"ann", "bob"} {
		if r, err := decide(id, reviewer, approvals.ActionApprove); err != nil || r.Status != approvals.StatusPending {
			t.Fatalf("%s: %+v, %v", reviewer, r, err)
		}
	}
	var invalid *approvals.InvalidError
	if _, err := decide(id, "ann", approvals.ActionApprove); !errors.As(err, &invalid) {
		t.Fatalf("the same reviewer twice: %v", err)
	}
	if r, err := decide(id, "cid", approvals.ActionApprove); err != nil || r.Status != approvals.StatusApproved {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := len(approvalstest.EventsOf(t, s, id)); got != 4 {
		t.Errorf("%d events", got)
	}
	other := h.Requests()[1].ID
	if _, err := decide(other, "ann", approvals.ActionApprove); err != nil {
		t.Fatal(err)
	}
	if r, err := decide(other, "bob", approvals.ActionDeny); err != nil || r.Status != approvals.StatusDenied {
		t.Fatalf("after a denial: %+v, %v", r, err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
}

// Several holds wait for one request: a decision ends each, and a hold that is detached
// takes nothing from the others.
func TestPromise7_NothingHangs_SeveralHolds(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	first := approvalstest.Open(t, g, approvalstest.Request("a"))
	again := first.Requests()[0]
	second, third := approvalstest.Open(t, g, approvalstest.Request("b"), again), approvalstest.Open(t, g, again)
	third.Detach()
	for _, r := range second.Requests() {
		if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	approvalstest.Await(t, first.Done(), "the first hold")
	approvalstest.Await(t, second.Done(), "the second hold")
	if a, b := first.Requests()[0], second.Requests()[1]; a.Status != approvals.StatusDenied || b.Status != approvals.StatusDenied {
		t.Errorf("the holds have %s and %s", a.Status, b.Status)
	}
	select {
	case <-third.Done():
		t.Error("a detached hold is done")
	default:
	}
}

func TestPromise7_NothingHangs_CancelAndDetach(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	h := approvalstest.Open(t, g, approvalstest.Request("a"), approvalstest.Request("b"))
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Cancel(t.Context(), "agent_gone"); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
	if now := h.Requests(); now[0].Status != approvals.StatusDenied || now[1].Status != approvals.StatusCancelled || now[1].Details.CancelReason != "agent_gone" {
		t.Fatalf("%+v", now)
	}
	h.Detach()

	left := approvalstest.Open(t, g, approvalstest.Request("c"))
	left.Detach()
	left.Detach()
	id := left.Requests()[0].ID
	if r, err := g.Request(t.Context(), id); err != nil || r.Status != approvals.StatusPending {
		t.Fatalf("detached: %+v, %v", r, err)
	}
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left.Done():
		t.Fatal("a detached hold is done")
	default:
	}
}

func TestRequestsPages(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	var want []string
	for i := range 7 {
		r := approvalstest.Request(fmt.Sprint(i))
		r.SessionID = []string{"even", "odd"}[i%2]
		id := approvalstest.Open(t, g, r).Requests()[0].ID
		want = append([]string{id}, want...)
	}
	var got []string
	f := approvals.Filter{Limit: 3, Status: approvals.StatusPending, Risk: approvals.RiskHigh, RunID: "run-1", Kind: approvals.KindPermission}
	for pages := 0; ; pages++ {
		page, err := g.Requests(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		if page.NextCursor == "" {
			break
		}
		f.Cursor = page.NextCursor
		approvalstest.Open(t, g, approvalstest.Request("newer")) // must not shift the pages
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if page, err := g.Requests(t.Context(), approvals.Filter{SessionID: "odd"}); err != nil || len(page.Items) != 3 {
		t.Errorf("%d of session odd, %v", len(page.Items), err)
	}
	if page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusDenied}); err != nil || page.Items == nil || len(page.Items) != 0 {
		t.Errorf("denied: %+v, %v", page, err)
	}
}

// A search over several pages finds each request once.
func TestRequestsAreSearchedByText(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	var want []string
	for i := range 150 {
		r := approvalstest.Request(fmt.Sprintf("echo number %d.", i))
		id := approvalstest.Open(t, g, r).Requests()[0].ID
		if i%10 == 7 {
			want = append([]string{id}, want...)
		}
	}
	var got []string
	f := approvals.Filter{Limit: 4, Text: "7. NUMBER", Status: approvals.StatusPending}
	for pages := 0; pages == 0 || f.Cursor != ""; pages++ {
		page, err := g.Requests(t.Context(), f)
		if err != nil || len(page.Items) > f.Limit || pages > len(want) {
			t.Fatalf("page %d has %d requests, %v", pages, len(page.Items), err)
		}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		f.Cursor = page.NextCursor
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var invalid *approvals.InvalidError
	if _, err := g.Requests(t.Context(), approvals.Filter{Text: strings.Repeat("x", 501)}); !errors.As(err, &invalid) || invalid.Field != "q" {
		t.Errorf("a search for a long text: %v", err)
	}
}
