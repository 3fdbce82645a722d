package judge

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

func TestRecorded(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	event := func(kind approvals.EventType, change func(*approvals.Event)) *approvals.Event {
		e := &approvals.Event{
			Type: kind, Time: at, ToolName: "bash", Before: json.RawMessage(`{"command":"ls"}`), Doubts: []string{"Two names."},
			Principal: approvals.Principal{Tenant: "acme"}, SessionID: "s", RunID: "r", TurnID: "t", Model: "m", Dialect: "chat",
		}
		if change != nil {
			change(e)
		}
		return e
	}
	for name, tt := range map[string]struct {
		event     *approvals.Event
		then      policy.Action
		arguments string
	}{
		"asked about":        {event(approvals.EventApprovalRequired, nil), policy.Ask, `{"command":"ls"}`},
		"allowed":            {event(approvals.EventCallAllowed, nil), policy.Allow, `{"command":"ls"}`},
		"released in stream": {event(approvals.EventCallReleased, nil), policy.Allow, `{"command":"ls"}`},
		"denied by a rule": {event(approvals.EventCallDenied, func(e *approvals.Event) {
			e.Outcome = string(approvals.OutcomeDeniedByRule)
		}), policy.Deny, `{"command":"ls"}`},
		"arguments that are not strict": {event(approvals.EventCallAllowed, func(e *approvals.Event) {
			e.Before = json.RawMessage(`"{\"a\":1,\"a\":2}"`)
		}), policy.Allow, `{"a":1,"a":2}`},
		"denied by a person": {event(approvals.EventCallDenied, func(e *approvals.Event) {
			e.RequestID, e.Outcome = "R", string(approvals.OutcomeDeniedByPerson)
		}), "", ""},
		"denied again": {event(approvals.EventCallDenied, func(e *approvals.Event) {
			e.Outcome = string(approvals.OutcomeDeniedByPerson)
		}), "", ""},
		"without a call": {event(approvals.EventCallAllowed, func(e *approvals.Event) { e.Before = nil }), "", ""},
		"another event":  {event(approvals.EventCallModified, nil), "", ""},
	} {
		from, c, then, ok := Recorded(tt.event)
		if ok != (tt.then != "") || then != tt.then || c.Arguments != tt.arguments {
			t.Errorf("%s: %s of %q, %t", name, then, c.Arguments, ok)
		}
		if !ok {
			continue
		}
		want := policy.Call{
			Tool: "bash", Arguments: tt.arguments, Ambiguous: []string{"Two names."},
			Principal: approvals.Principal{Tenant: "acme"}, Session: "s", Run: "r", Turn: "t", Model: "m", Dialect: "chat", Now: at,
		}
		if d := cmp.Diff(want, from.call(c)); d != "" {
			t.Errorf("%s: policy reads (-want +got):\n%s", name, d)
		}
	}
}

func TestRequestedIsTheCallOfTheModel(t *testing.T) {
	for _, tt := range []struct{ arguments, raw, want string }{
		{`{"command":"ls"}`, "", `{"command":"ls"}`},
		{`{"command":"ls","timeout":1}`, `{"command":"ls"}`, `{"command":"ls"}`}, // changed by a rewrite rule
		{`"{\"a\":1,\"a\":2}"`, `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`"free text"`, "free text", "free text"},
		{`""`, "", ""}, // no arguments at all
	} {
		r := approvals.Request{
			ToolName: "bash", Arguments: json.RawMessage(tt.arguments), Principal: approvals.Principal{User: "ann"},
			SessionID: "s", RunID: "r", TurnID: "t", Model: "m", Dialect: "chat",
			Details: approvals.Details{RawArguments: tt.raw, FreeText: true, Fixed: true, Doubts: []string{"why"}},
		}
		from, c := requested(&r)
		want := policy.Call{
			Tool: "bash", Arguments: tt.want, FreeText: true, Fixed: true, Ambiguous: []string{"why"},
			Principal: approvals.Principal{User: "ann"}, Session: "s", Run: "r", Turn: "t", Model: "m", Dialect: "chat",
		}
		if d := cmp.Diff(want, from.call(c)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.arguments, d)
		}
	}
}

// TestRequestedIsOffered: the call of a request with the definition of its tool is judged by that very name.
func TestRequestedIsOffered(t *testing.T) {
	for _, tt := range []struct {
		tool approvals.Tool
		want bool
	}{{approvals.Tool{}, false}, {approvals.Tool{Description: "Runs a command."}, true}, {approvals.Tool{Parameters: json.RawMessage("{}")}, true}} {
		from, c := requested(&approvals.Request{ToolName: "bash", Tool: tt.tool})
		if got := from.call(c).Offered; got != tt.want {
			t.Errorf("%+v: offered %t", tt.tool, got)
		}
	}
}

func TestKey(t *testing.T) {
	key := Key(intercept.Call{Name: "bash", Arguments: `{"a":1,"b":2}`})
	for name, tt := range map[string]struct {
		call  intercept.Call
		equal bool
	}{
		"written otherwise": {intercept.Call{ID: "x", Name: "bash", Arguments: "{ \"b\": 2, \"a\": 1 }"}, true},
		"another value":     {intercept.Call{Name: "bash", Arguments: `{"a":1,"b":3}`}, false},
		"another tool":      {intercept.Call{Name: "sh", Arguments: `{"a":1,"b":2}`}, false},
		"as free text":      {intercept.Call{Name: "bash", Arguments: `{"a":1,"b":2}`, FreeText: true}, false},
	} {
		if got := Key(tt.call) == key; got != tt.equal {
			t.Errorf("%s: equal %t", name, got)
		}
	}
}

func TestArgumentsValue(t *testing.T) {
	for name, tt := range map[string]struct {
		call intercept.Call
		want string
	}{
		"an object":       {intercept.Call{Arguments: " {\"a\": 1}"}, " {\"a\": 1}"},
		"twice the same":  {intercept.Call{Arguments: `{"a":1,"a":2}`}, `"{\"a\":1,\"a\":2}"`},
		"no object":       {intercept.Call{Arguments: `[1]`}, `"[1]"`},
		"no JSON":         {intercept.Call{Arguments: `{"a`}, `"{\"a"`},
		"nothing":         {intercept.Call{}, `""`},
		"free text":       {intercept.Call{Arguments: `{"a":1}`, FreeText: true}, `"{\"a\":1}"`},
		"not valid UTF-8": {intercept.Call{Arguments: "\xff"}, "\"\uFFFD\""},
	} {
		if got := string(ArgumentsValue(tt.call)); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// FuzzArgumentsText checks that the text that is judged, and released after an edit, is the
// text in the record: the content of a JSON string, else the value itself.
func FuzzArgumentsText(f *testing.F) {
	for _, seed := range []string{``, `{"a":1}`, `"text"`, "line\nline", `\"`, "\u2028", `{"a":`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) {
			quoted, err := jsontext.AppendQuote(nil, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := ArgumentsText(json.RawMessage(quoted)); got != text {
				t.Errorf("%q is read as %q", text, got)
			}
		}
		if value := jsontext.Value(text); value.IsValid() && value.Kind() != '"' {
			if got := ArgumentsText(json.RawMessage(text)); got != text {
				t.Errorf("%s is read as %q", text, got)
			}
		}
	})
}
