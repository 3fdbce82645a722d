package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
)

// A client that was written for another agent framework finds what it shows to people
// under the names that it knows, and answers by them.
func TestSocketSpeaksAsOtherFrameworksDo(t *testing.T) {
	asked := approvals.Request{
		ID: "01A", SessionID: "s1", Status: approvals.StatusPending, ToolName: "file_write", Title: "Allow file_write?",
		RiskLevel: approvals.RiskHigh, Arguments: []byte(`{"path":"<a>","path":"b"}`),
	}
	gate := &scriptedGate{page: approvals.Page{Items: []approvals.Request{asked}}, request: asked, events: make(chan approvals.Event)}
	w := open(t, start(t, gate, nil), "")
	type shown struct {
		SessionID   string          `json:"session_id"`
		ExecutionID string          `json:"execution_id"`
		ToolName    string          `json:"tool_name"`
		Parameters  json.RawMessage `json:"parameters"`
		RiskLevel   string          `json:"risk_level"`
		Message     string          `json:"message"`
	}
	want := shown{"s1", "01A", "file_write", json.RawMessage(`{"path":"<a>","path":"b"}`), "high", "Allow file_write?"}
	sees := func(m live.Message[json.RawMessage]) {
		t.Helper()
		var got shown
		if err := json.Unmarshal(m.Data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", m.Type, diff)
		}
	}
	sees(w.want(live.TypeRequest, ""))
	w.want(live.TypeReady, "")
	w.send(`{"type":"agent_tool_permission_response","data":{"execution_id":"01A","approved":true}}`)
	sees(w.want(live.TypeUpdate, ""))
	if gate.decision.RequestID != "01A" || gate.decision.Action != approvals.ActionApprove {
		t.Errorf("the gate was asked: %+v", gate.decision)
	}
	w.send(`{"type":"agent_tool_permission_response","id":"m","data":{"execution_id":"01A","request_id":"01B","approved":true}}`)
	if m := w.want(live.TypeError, "m"); !strings.Contains(string(m.Data), "execution_id") {
		t.Errorf("two requests at once are answered %s", m.Data)
	}
}
