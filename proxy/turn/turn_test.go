package turn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// run runs a turn to its end.
func run(t *testing.T, e *Engine, r *Request, a *recorder, m *model) (outcome string, err error) {
	t.Helper()
	turn := e.New(t.Context(), r, a, m, nil)
	if refusal := turn.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	ended, err := turn.Run()
	if !ended {
		t.Fatal("the turn has not ended")
	}
	return turn.Outcome(), err
}

const (
	allowAll = "default: allow\n"
	denyAll  = "default: deny\n"
)

// How a turn ends, by what upstream answers.
func TestTurnEndings(t *testing.T) {
	text := fakemodel.Answer{Text: "Hello."}
	for name, tt := range map[string]struct {
		rules    string
		streamed bool
		answers  []canned          // in place of answer
		answer   *fakemodel.Answer // to the request
		outcome  string
		status   int
		contains string // in the answer, "" for nothing particular
	}{
		"a text":          {rules: allowAll, answer: &text, outcome: outcomePassed, status: 200, contains: "Hello."},
		"a streamed text": {rules: allowAll, streamed: true, answer: &text, outcome: outcomePassed, status: 200, contains: "[DONE]"},
		"not sent":        {rules: allowAll, answers: []canned{{unanswered: intercept.NotUnderstood("it is broken"), unsent: true}}, outcome: outcomeFailed, status: 502, contains: "it is broken"},
		"an error":        {rules: allowAll, answers: []canned{{status: 429, body: []byte(`{"error":{"message":"slow down, sk-secret"}}`)}}, outcome: outcomeUpstreamError, status: 429, contains: "slow down, [key]"},
		"an error with a call": {
			rules: allowAll, answers: []canned{{status: 500, body: []byte(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"bash"}}]}}]}`)}},
			outcome: outcomeFailed, status: 502, contains: "that could hold a call",
		},
		"a redirect":    {rules: allowAll, answers: []canned{{status: 307}}, outcome: outcomeFailed, status: 502, contains: "another address"},
		"a part":        {rules: allowAll, answers: []canned{{status: 206}}, outcome: outcomeFailed, status: 502, contains: "206 Partial Content"},
		"compressed":    {rules: allowAll, answers: []canned{{encoding: "rot13"}}, outcome: outcomeFailed, status: 502, contains: "rot13"},
		"other charset": {rules: allowAll, answers: []canned{{contentType: "application/json; charset=utf-7"}}, outcome: outcomeFailed, status: 502, contains: "character set"},
		"a cut error":   {rules: allowAll, answers: []canned{{status: 500, cut: io.ErrUnexpectedEOF}}, outcome: outcomeFailed, status: 502, contains: "cut off"},
		"a cut answer":  {rules: allowAll, answers: []canned{{contentType: "application/json", body: []byte(`{"cho`), cut: io.ErrUnexpectedEOF}}, outcome: outcomeFailed, status: 502, contains: "cut off"},
		"a cut stream": {
			rules: allowAll, streamed: true, answers: []canned{{contentType: "text/event-stream", body: []byte("data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\n"), cut: io.ErrUnexpectedEOF}},
			outcome: outcomeFailed, status: 200, contains: "upstream_cut",
		},
		"not JSON": {rules: allowAll, answers: []canned{{contentType: "application/json", body: []byte(`{"a":1`)}}, outcome: outcomeFailed, status: 502, contains: "answer_not_understood"},
	} {
		t.Run(name, func(t *testing.T) {
			b, r, a, m := newBench(t, tt.rules), chatRequest(tt.streamed), newRecorder(), &model{answers: tt.answers}
			if tt.answer != nil {
				m.answers = []canned{answerTo(r.Envelope, *tt.answer)}
			}
			outcome, err := run(t, b.Engine, r, a, m)
			if err != nil || outcome != tt.outcome || a.status != tt.status || !bytes.Contains(a.body, []byte(tt.contains)) {
				t.Errorf("%v, outcome %q, %d %s; want %q, %d %s", err, outcome, a.status, a.body, tt.outcome, tt.status, tt.contains)
			}
			if n := testutil.ToFloat64(b.metrics.turns.WithLabelValues("chat", tt.outcome)); n != 1 {
				t.Errorf("the turn is counted %v times", n)
			}
		})
	}
}

// A denied call never reaches the agent, which gets the continuation in the same answer.
func TestTurnContinuesAfterADenial(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		b, r, a := newBench(t, denyAll), chatRequest(streamed), newRecorder()
		m := &model{answers: []canned{
			answerTo(r.Envelope, callBash(`{"command":"rm -rf /"}`)),
			answerTo(r.Envelope, fakemodel.Answer{Text: "I will not."}),
		}}
		outcome, err := run(t, b.Engine, r, a, m)
		if err != nil || outcome != outcomeChanged || m.requests() != 2 {
			t.Fatalf("%v, outcome %q after %d requests", err, outcome, m.requests())
		}
		if bytes.Contains(a.body, []byte("rm -rf")) || bytes.Contains(a.body, []byte("bash")) {
			t.Errorf("the denied call has leaked: %s", a.body)
		}
		if !bytes.Contains(m.got[1].Body, []byte("rm -rf")) {
			t.Errorf("the model does not read which call was denied: %s", m.got[1].Body)
		}
		var types []string
		for _, e := range b.gate.events {
			types = append(types, string(e.Type))
		}
		if got := strings.Join(types, " "); got != "call_denied denial_told" {
			t.Errorf("the audit log has %s", got)
		}
	}
}

// auditor is an agent that looks at the audit log when the call reaches it.
type auditor struct {
	*recorder
	gate *stubGate
	log  []approvals.EventType // when the call came, nil: it has not
}

func (a *auditor) Write(p []byte) error { a.look(p); return a.recorder.Write(p) }
func (a *auditor) Finish(p []byte)      { a.look(p); a.recorder.Finish(p) }

func (a *auditor) look(p []byte) {
	if a.log != nil || !bytes.Contains(p, []byte("bash")) {
		return
	}
	a.log = []approvals.EventType{}
	for i := range a.gate.events {
		a.log = append(a.log, a.gate.events[i].Type)
	}
}

func TestPromise4_RecordedFirst_ReleaseBeforeItsBytes(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		b, r := newBench(t, "profiles: none\nrules:\n  - allow: [\"bash(*)\"]\n"), chatRequest(streamed)
		a := &auditor{recorder: newRecorder(), gate: b.gate}
		turn := b.New(t.Context(), r, a, &model{answers: []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`))}}, nil)
		if refusal := turn.Prepare(); refusal != nil {
			t.Fatal(refusal)
		}
		if ended, err := turn.Run(); !ended || err != nil {
			t.Fatalf("ended %t, %v", ended, err)
		}
		if want := []approvals.EventType{approvals.EventCallAllowed, approvals.EventCallReleased}; !slices.Equal(a.log, want) {
			t.Errorf("streamed %t: when the call reaches the agent, the log has %v, want %v", streamed, a.log, want)
		}
	}
}

// What cannot be recorded is not released.
func TestTurnFailsClosed(t *testing.T) {
	b, r, a := newBench(t, "profiles: none\nrules:\n  - allow: [\"bash(*)\"]\n"), chatRequest(true), newRecorder()
	b.gate.failed = approvals.ErrStoreUnavailable
	m := &model{answers: []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`))}}
	if outcome, err := run(t, b.Engine, r, a, m); err != nil || outcome != outcomeFailed || bytes.Contains(a.body, []byte("bash")) {
		t.Errorf("%v, outcome %q: %s", err, outcome, a.body)
	}
	if n := testutil.ToFloat64(b.metrics.storeErrors.WithLabelValues("record")); n != 1 {
		t.Errorf("%v failures are counted", n)
	}
}

// An agent that cannot be written to ends the turn, and its answer does not end properly.
func TestTurnOfADisconnectedAgent(t *testing.T) {
	b, r, a := newBench(t, allowAll), chatRequest(true), newRecorder()
	a.gone = true
	m := &model{answers: []canned{answerTo(r.Envelope, fakemodel.Answer{Text: "Hello."})}}
	if outcome, err := run(t, b.Engine, r, a, m); !errors.Is(err, errDisconnected) || outcome != outcomeAgentGone {
		t.Errorf("%v, outcome %q", err, outcome)
	}
}

// Run returns while a started answer cannot be written, and continues when it can.
func TestTurnWaitsForAWritableAgent(t *testing.T) {
	b, r, a := newBench(t, allowAll), chatRequest(true), newRecorder()
	a.writable = false
	turn := b.New(t.Context(), r, a, &model{answers: []canned{answerTo(r.Envelope, fakemodel.Answer{Text: "Hello."})}}, nil)
	if refusal := turn.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	if ended, err := turn.Run(); ended || err != nil || len(a.body) > 0 {
		t.Fatalf("ended %t, %v, with %s", ended, err, a.body)
	}
	a.writable = true
	if ended, err := turn.Run(); !ended || err != nil || !bytes.Contains(a.body, []byte("[DONE]")) {
		t.Errorf("ended %t, %v, with %s", ended, err, a.body)
	}
}

// A context that ends at shutdown ends the turn with an error that the agent can read.
func TestTurnAtShutdown(t *testing.T) {
	b, r, a := newBench(t, allowAll), chatRequest(false), newRecorder()
	ctx, cancel := context.WithCancelCause(t.Context())
	turn := b.New(ctx, r, a, &model{answers: []canned{{cut: io.ErrUnexpectedEOF}}}, nil)
	if refusal := turn.Prepare(); refusal != nil {
		t.Fatal(refusal)
	}
	cancel(ErrShuttingDown)
	if ended, err := turn.Run(); !ended || err != nil || a.status != http.StatusServiceUnavailable {
		t.Errorf("ended %t, %v, %d %s", ended, err, a.status, a.body)
	}
	b.Drain()
	if refusal := b.New(ctx, r, a, nil, nil).Prepare(); refusal == nil || refusal.Code != intercept.CodeShuttingDown {
		t.Errorf("a new turn is refused with %v", refusal)
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code intercept.Code
	}{{ErrShuttingDown, intercept.CodeShuttingDown}, {errDisconnected, intercept.CodeUpstreamCut}} {
		if got := Explain(tt.err); got.Code != tt.code {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
