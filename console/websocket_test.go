package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

func TestSocketTellsWhatWaitsAndWhatBecomesOfIt(t *testing.T) {
	waits := approvals.Request{ID: "01A", Status: approvals.StatusPending, Arguments: []byte(`{"a":"<&>"}`)}
	gate := &scriptedGate{page: approvals.Page{Items: []approvals.Request{waits}}, request: waits, last: 9, events: make(chan approvals.Event)}
	w := open(t, start(t, gate, nil), "")
	if m := w.want(live.TypeRequest, ""); m.EventID != "" || !strings.Contains(string(m.Data), `"arguments":{"a":"<&>"}`) {
		t.Errorf("the pending requests are %+v", m)
	}
	if m := w.want(live.TypeReady, ""); m.EventID != "9" || string(m.Data) != `{"pending":["01A"],"resumed":false}` {
		t.Errorf("then comes %s %s", m.EventID, m.Data)
	}
	event := func(seq uint64, typ approvals.EventType, id string) {
		gate.events <- approvals.Event{Seq: seq, Type: typ, RequestID: id}
	}
	event(8, approvals.EventApprovalRequired, "01A")  // is told already
	event(10, approvals.EventApprovalRequired, "01A") // the list was newer than the log
	event(11, approvals.EventCallReleased, "01A")
	event(12, approvals.EventApprovalDecision, "01A") // one of two approvals, say
	if m := w.want(live.TypeUpdate, ""); m.EventID != "12" {
		t.Errorf("the update is of %s", m.EventID)
	}
	event(13, approvals.EventApprovalRequired, "01B")
	if m := w.want(live.TypeRequest, ""); m.EventID != "13" {
		t.Errorf("the request is of %s", m.EventID)
	}
	if gate.from != 1 {
		t.Errorf("the log is read from %d", gate.from)
	}
}

// A client that resumes gets the requests that ended meanwhile, once.
func TestSocketResumes(t *testing.T) {
	ended := approvals.Request{ID: "01A", Status: approvals.StatusDenied}
	for query, want := range map[string]struct {
		ready string
		told  bool
	}{
		"?last_event_id=995":    {"995", true},
		"?last_event_id=997":    {"997", false},
		"?last_event_id=5":      {"5", true},
		"?last_event_id=100000": {"1000", false}, // of another log
		"":                      {"1000", false},
	} {
		gate := &scriptedGate{request: ended, last: 1000, events: make(chan approvals.Event)}
		w := open(t, start(t, gate, nil), query)
		if m := w.want(live.TypeReady, ""); m.EventID != want.ready {
			t.Errorf("%s: resumes after %s", query, m.EventID)
		}
		gate.events <- approvals.Event{Seq: 900, Type: approvals.EventApprovalRequired, RequestID: "01A"}
		gate.events <- approvals.Event{Seq: 996, Type: approvals.EventApprovalDecision, RequestID: "01A"}
		gate.events <- approvals.Event{Seq: 1001, Type: approvals.EventApprovalExpired, RequestID: "01C"}
		if want.told {
			if m := w.want(live.TypeUpdate, ""); m.EventID != "996" {
				t.Errorf("%s: the update is of %s", query, m.EventID)
			}
		}
		if m := w.want(live.TypeUpdate, ""); m.EventID != "1001" {
			t.Errorf("%s: then comes %s", query, m.EventID)
		}
		if last := gate.from; (last != min(501, 995+1) && query != "?last_event_id=5") || (query == "?last_event_id=5" && last != 6) {
			t.Errorf("%s: the log is read from %d", query, last)
		}
	}
	url := start(t, &scriptedGate{}, nil)
	for _, query := range []string{"?last_event_id=x", "?last_event_id=", "?last_event_id=1&last_event_id=2", "?last=1"} {
		status, header, body := ask(t, "GET", url+"/api/v1/ws"+query, "")
		wantProblem(t, status, header, body, 400, problem.CodeBadRequest)
	}
}

func TestSocketTakesDecisions(t *testing.T) {
	gate := &scriptedGate{request: approvals.Request{ID: "01A", Status: approvals.StatusApproved}, events: make(chan approvals.Event)}
	w := open(t, start(t, gate, nil), "")
	w.want(live.TypeReady, "")
	w.send(`{"type":"agent_tool_permission_response","id":"m1","data":{"request_id":"01A","approved":true,"modified_args":{"x": "<1>"},"action":"modify_args","reviewer_id":"mallory"}}`)
	if m := w.want(live.TypeUpdate, "m1"); !strings.Contains(string(m.Data), `"status":"approved"`) {
		t.Errorf("the answer is %s", m.Data)
	}
	want := approvals.Decision{RequestID: "01A", Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"x": "<1>"}`), ReviewerID: "local", ReviewerGroups: []string{approvals.EveryGroup}, Channel: "websocket"}
	if diff := cmp.Diff(want, gate.decision); diff != "" {
		t.Errorf("the gate was asked to decide otherwise:\n%s", diff)
	}
}

func TestSocketAnswersWhatItDoesNotTake(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event)}
	w := open(t, start(t, gate, nil), "")
	w.want(live.TypeReady, "")
	for text, want := range map[string][2]string{
		`{`:                            {"", problem.CodeBadRequest},
		`[]`:                           {"", problem.CodeBadRequest},
		`{"type":"a","type":"b"}`:      {"", problem.CodeBadRequest},
		`{"type":"a","surprise":1}`:    {"", problem.CodeBadRequest},
		`{"type":"shutdown","id":"m"}`: {"m", problem.CodeBadRequest},
		`{"type":"shutdown","id":"` + strings.Repeat("x", maxMessageID+1) + `"}`:                                       {"", problem.CodeBadRequest},
		`{"type":"agent_tool_permission_response","id":"m"}`:                                                           {"m", problem.CodeInvalid},
		`{"type":"agent_tool_permission_response","id":"m","data":{"action":"approve"}}`:                               {"m", problem.CodeInvalid},
		`{"type":"agent_tool_permission_response","id":"m","data":{"request_id":"01A","allow":true,"approved":false}}`: {"m", problem.CodeInvalid},
		`{"type":"agent_tool_permission_response","id":"m","data":{"request_id":"a.b","action":"approve"}}`:            {"m", problem.CodeNotFound},
		`{"type":"get_agent_status","id":"m","data":{"session":"s"}}`:                                                  {"m", problem.CodeInvalid},
	} {
		w.send(text)
		m := w.want(live.TypeError, want[0])
		var p problem.Problem
		if err := json.Unmarshal(m.Data, &p); err != nil || p.Code != want[1] || p.Detail == "" || p.Status < 400 {
			t.Errorf("%s is answered %s (%v), want %s", text, m.Data, err, want[1])
		}
		if strings.Contains(p.Detail, "Go ") || strings.Contains(text, "surprise") != strings.Contains(p.Detail, `it takes no "surprise"`) {
			t.Errorf("%s is answered %q", text, p.Detail)
		}
	}
	if gate.decision.Action != "" {
		t.Errorf("the gate was asked: %+v", gate.decision)
	}
}

func TestSocketTellsWhereAgentsStand(t *testing.T) {
	at := func(id, session, run string) approvals.Request {
		return approvals.Request{ID: id, SessionID: session, RunID: run, Kind: approvals.KindPermission, ToolName: "bash", RiskLevel: approvals.RiskHigh}
	}
	gate := &scriptedGate{
		page:   approvals.Page{Items: []approvals.Request{at("03", "s2", "r2"), at("02", "s1", "r1"), at("01", "s1", "r1")}},
		runs:   []approvals.Run{{ID: "r1", State: approvals.RunPaused, ReviewerID: "ann"}, {ID: "r3", SessionID: "s1", State: approvals.RunAborted}},
		events: make(chan approvals.Event),
	}
	w := open(t, start(t, gate, nil), "")
	for range gate.page.Items {
		w.want(live.TypeRequest, "")
	}
	w.want(live.TypeReady, "")
	w.send(`{"type":"get_agent_status","id":"7"}`)
	var status live.AgentStatus
	if err := json.Unmarshal(w.want(live.TypeStatus, "7").Data, &status); err != nil {
		t.Fatal(err)
	}
	call := func(id string) live.WaitingCall {
		return live.WaitingCall{RequestID: id, ExecutionID: id, Kind: approvals.KindPermission, ToolName: "bash", RiskLevel: approvals.RiskHigh}
	}
	want := live.AgentStatus{Sessions: []live.SessionStatus{
		{SessionID: "s1", Runs: []live.RunStatus{
			{RunID: "r1", State: approvals.RunPaused, ReviewerID: "ann", Waiting: []live.WaitingCall{call("01"), call("02")}},
			{RunID: "r3", State: approvals.RunAborted, Waiting: []live.WaitingCall{}},
		}},
		{SessionID: "s2", Runs: []live.RunStatus{{RunID: "r2", State: approvals.RunRunning, Waiting: []live.WaitingCall{call("03")}}}},
	}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Error(diff)
	}
	w.send(`{"type":"get_agent_status","id":"8","data":{"session_id":"s2","run_id":"r2"}}`)
	w.want(live.TypeStatus, "8")
	if gate.filter.SessionID != "s2" || gate.filter.RunID != "r2" {
		t.Errorf("looked for is %+v", gate.filter)
	}
}

// A page of another site can open a WebSocket to any address. The browser sends its
// origin, and only the console's own is accepted.
func TestForeignPageOpensNoSocket(t *testing.T) {
	local := start(t, &scriptedGate{}, nil)
	staffed, tokens := startStaffed(t, &scriptedGate{events: make(chan approvals.Event)})
	page, _ := signIn(t, staffed, tokens[reviewers.RoleAdmin])
	for _, url := range []string{local, staffed} {
		for _, foreign := range [][]string{
			{"Origin", "https://attacker.example"},
			{"Origin", "http://127.0.0.1:3000"},
			{"Origin", "null"},
			{"Origin", url, "Sec-Fetch-Site", "cross-site"},
			{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"},
		} {
			refused(t, url, 403, problem.CodeForeignOrigin, append(foreign, page...)...)
		}
		refused(t, url, 403, problem.CodeForeignHost, "Host", "attacker.example", "Origin", "http://attacker.example")
	}
	refused(t, staffed, 403, problem.CodeForeignOrigin, page...) // no header of a browser
	own := open(t, local, "", "Origin", local)
	own.want(live.TypeReady, "")
}

// A page cannot set headers, so it offers the key of its session as a
// subprotocol. The cookie alone opens nothing.
func TestSocketOfASession(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event)}
	url, tokens := startStaffed(t, gate)
	page, _ := signIn(t, url, tokens[reviewers.RoleReviewer])
	cookie, key := page[:2], page[3]
	offer := func(key string) []string {
		return append([]string{"Origin", url, "Sec-WebSocket-Protocol", live.Subprotocol + ", " + live.KeyProtocol + key}, cookie...)
	}
	refused(t, url, 401, problem.CodeUnauthenticated)
	refused(t, url, 401, problem.CodeWrongToken, "Authorization", "Bearer guessed")
	refused(t, url, 401, problem.CodeUnauthenticated, append([]string{"Origin", url}, cookie...)...)
	refused(t, url, 401, problem.CodeUnauthenticated, offer("x"+key)...)
	refused(t, url, 401, problem.CodeUnauthenticated, offer("")...)
	status, header, body := ask(t, "GET", url+"/api/v1/me", "", offer(key)...)
	wantProblem(t, status, header, body, 401, problem.CodeUnauthenticated) // it is a key of the WebSocket only
	w := open(t, url, "", offer(key)...)
	if got := w.Subprotocol(); got != live.Subprotocol {
		t.Errorf("the subprotocol is %q", got)
	}
	w.want(live.TypeReady, "")
	w.send(`{"type":"agent_tool_permission_response","data":{"request_id":"01A","action":"deny"}}`)
	w.want(live.TypeUpdate, "")
	if gate.decision.ReviewerID != "rob" || !slices.Equal(gate.decision.ReviewerGroups, []string{"night"}) {
		t.Errorf("the decision is that of %+v", gate.decision)
	}
	ask(t, "DELETE", url+"/api/v1/session", "", append(page, "Origin", url)...)
	if code := w.ended(); code != websocket.StatusPolicyViolation {
		t.Errorf("after the sign-out it ends with %d", code)
	}
}

func TestSocketOfAViewerDecidesNothing(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event)}
	url, tokens := startStaffed(t, gate)
	w := open(t, url, "", "Authorization", "Bearer "+tokens[reviewers.RoleViewer])
	w.want(live.TypeReady, "")
	w.send(`{"type":"agent_tool_permission_response","id":"1","data":{"request_id":"01A","action":"approve"}}`)
	if m := w.want(live.TypeError, "1"); !strings.Contains(string(m.Data), problem.CodeForbidden) {
		t.Errorf("a viewer gets %s", m.Data)
	}
	if gate.decision.Action != "" {
		t.Error("the gate was asked")
	}
}

func TestSocketBoundsWhatItReads(t *testing.T) {
	url := start(t, &scriptedGate{events: make(chan approvals.Event)}, nil)
	large := open(t, url, "")
	large.want(live.TypeReady, "")
	large.send(`{"type":"` + strings.Repeat("x", maxBody) + `"}`)
	if code := large.ended(); code != websocket.StatusMessageTooBig {
		t.Errorf("a message that is too large ends it with %d", code)
	}
	binary := open(t, url, "")
	binary.want(live.TypeReady, "")
	if err := binary.Write(t.Context(), websocket.MessageBinary, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if code := binary.ended(); code != websocket.StatusUnsupportedData {
		t.Errorf("a binary message ends it with %d", code)
	}
}

// Who sends much is read slowly, and is answered all the same.
func TestSocketBoundsHowFastItReads(t *testing.T) {
	w := open(t, start(t, &scriptedGate{events: make(chan approvals.Event)}, nil), "")
	w.want(live.TypeReady, "")
	const more = 10
	began := time.Now()
	for i := range messagesAtOnce + more {
		w.send(fmt.Sprintf(`{"type":"shutdown","id":"%d"}`, i))
	}
	for i := range messagesAtOnce + more {
		w.want(live.TypeError, fmt.Sprint(i))
	}
	if took := time.Since(began); took < (more-1)*messageEvery {
		t.Errorf("%d messages were read in %s", messagesAtOnce+more, took)
	}
}

// A client that does not read is disconnected after a time-out, and delays no other
// until then.
func TestSlowSocketIsCutOff(t *testing.T) {
	large := approvals.Request{ID: "01A", Status: approvals.StatusPending, ArgsPreview: strings.Repeat("x", 1<<20)}
	gate := &scriptedGate{page: approvals.Page{Items: slices.Repeat([]approvals.Request{large}, 64)}, request: large} // more than the buffers between them hold
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	c.handlers.live.stall = 2 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	url := "http://" + c.Addr()
	open(t, url, "").want(live.TypeRequest, "") // and reads nothing more
	gate.mu.Lock()
	gate.page.Items = nil
	gate.mu.Unlock()
	quick := open(t, url, "")
	quick.want(live.TypeReady, "")
	quick.send(`{"type":"agent_tool_permission_response","id":"1","data":{"request_id":"01A","action":"deny"}}`)
	quick.want(live.TypeUpdate, "1")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c.handlers.live.open.mu.Lock()
		count := c.handlers.live.open.open
		c.handlers.live.open.mu.Unlock()
		if count == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sockets are open", count)
		}
	}
	quick.send(`{"type":"get_agent_status","id":"2"}`)
	quick.want(live.TypeStatus, "2")
}

func TestSocketTellsThatItFailed(t *testing.T) {
	gate := &scriptedGate{events: make(chan approvals.Event)}
	w := open(t, start(t, gate, nil), "")
	w.want(live.TypeReady, "")
	gate.mu.Lock()
	gate.err = approvals.ErrStoreUnavailable
	gate.mu.Unlock()
	close(gate.events)
	if m := w.want(live.TypeError, ""); !strings.Contains(string(m.Data), problem.CodeStoreUnavailable) {
		t.Errorf("the message is %s", m.Data)
	}
	if code := w.ended(); code != websocket.StatusInternalError {
		t.Errorf("it ends with %d", code)
	}
}

func TestShutdownEndsSockets(t *testing.T) {
	c, err := New(Options{Listen: "127.0.0.1:0", Gate: &scriptedGate{events: make(chan approvals.Event)}, Heartbeat: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	url := "http://" + c.Addr()
	listening := open(t, url, "")
	listening.want(live.TypeReady, "")
	open(t, url, "") // one that does not answer
	ended := make(chan websocket.StatusCode, 1)
	go func() {
		_, _, err := listening.Read(context.WithoutCancel(t.Context()))
		ended <- websocket.CloseStatus(err)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != websocket.StatusGoingAway {
		t.Errorf("it ends with %d", code)
	}
	if _, err := c.handlers.live.open.enter("ann"); c.handlers.live.open.open != 0 || !errors.Is(err, errStopping) {
		t.Errorf("after the shutdown %d sockets are open, and one more may: %v", c.handlers.live.open.open, err)
	}
}

func TestSocketIsAWebSocket(t *testing.T) {
	url := start(t, &scriptedGate{}, nil)
	status, header, body := ask(t, "GET", url+"/api/v1/ws", "")
	wantProblem(t, status, header, body, 426, problem.CodeUpgradeRequired)
	if header.Get("Upgrade") != "websocket" {
		t.Errorf("the answer's head is %v", header)
	}
}
