package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// retried declares a repetition, as the SDKs of OpenAI and Anthropic do.
var retried = []string{"X-Stainless-Retry-Count", "1"}

// comments makes heartbeats comments, which withoutHeartbeats removes.
func comments(c *app.Config) { c.Proxy.Heartbeat = "comment" }

// withoutHeartbeats removes the comments of a stream and the blanks before and after an
// answer.
func withoutHeartbeats(body string) string {
	var kept strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, ":") {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}

// agent waits until the agent of a request is in a state.
func (w *world) agent(id string, want approvals.AttachState) {
	w.t.Helper()
	w.until(fmt.Sprintf("the agent of %s is %s", id, want), func() bool {
		r, err := w.console.Request(w.t.Context(), id)
		return err == nil && r.Agent != nil && r.Agent.State == want
	})
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	var poll polling
	for deadline := time.Now().Add(soon); !ok(); poll.sleep() {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s\n%s", what, w.log.String())
		}
	}
}

// ask sends a request beside the test, and returns what ends its connection.
func (w *world) ask(path, body string, header ...string) (leave context.CancelFunc) {
	body = withTools(path, body)
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url(path), strings.NewReader(body))
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
		if resp, err := transport.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	return cancel
}

// detached is a request of an agent that has left.
func (w *world) detached(s speech, body string, header ...string) approvals.Request {
	w.t.Helper()
	leave := w.ask(s.path, body, append(header, s.header...)...)
	r := w.pending(1)[0]
	leave()
	w.agent(r.ID, approvals.AgentDetached)
	w.event("turn_detached")
	return r
}

// audited returns the types of the events in the audit log about calls, in their order.
func (w *world) audited() (types []string) {
	w.t.Helper()
	for e, err := range w.console.Audit(w.t.Context(), time.Time{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Type != approvals.EventPolicyChanged { // of the start
			types = append(types, string(e.Type))
		}
	}
	return types
}

// event waits for an event of a type.
func (w *world) event(typ string) {
	w.t.Helper()
	w.until(typ, func() bool { return slices.Contains(w.audited(), typ) })
}

// outcomes are decisions on a held call, with the events after it.
var outcomes = map[string]struct {
	approvals.Decision
	events []string
	calls  int // requests to the model
}{
	"approved": {approvals.Decision{Action: approvals.ActionApprove}, []string{"approval_decision", "call_released"}, 1},
	"denied":   {approvals.Decision{Action: approvals.ActionDeny, Note: "no"}, []string{"approval_decision", "call_denied", "denial_told"}, 2},
	"edited":   {approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"command":"pwd"}`)}, []string{"approval_decision", "call_modified", "call_released"}, 1},
	"expired":  {approvals.Decision{}, []string{"approval_expired", "call_denied", "denial_told"}, 2},
}

// The agent's connection breaks while its call is held. It comes back after the decision,
// or before it: it gets the bytes of an unbroken turn, upstream and people are asked once,
// and the audit log is complete.
func TestPromise12_AskedOnce(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		for name, tt := range outcomes {
			whole := name == "denied" || name == "edited"
			if !*everyStep && whole == streamed { // half of them
				continue
			}
			policy := askAll
			if name == "expired" {
				policy = "rules:\n  - ask: [bash]\n    timeout: 3s\n" // later than the agent leaves
			}
			unbroken := build(t, policy, lister().Reply, comments)
			answer := make(chan string, 1)
			go func() { answer <- unbroken.post(s.path, s.body(streamed), s.header...).rest() }()
			if tt.Action != "" {
				unbroken.decide(unbroken.pending(1)[0].ID, tt.Decision)
			}
			want := withoutHeartbeats(<-answer)

			w := build(t, policy, lister().Reply, comments)
			r := w.detached(s, s.body(streamed))
			if tt.Action != "" {
				w.decide(r.ID, tt.Decision)
			}
			w.event("turn_ready")
			back := w.post(s.path, s.body(streamed), append(retried, s.header...)...)
			if got := withoutHeartbeats(back.rest()); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			}
			if id := back.resp.Header.Get("X-Heldcall-Turn"); id != r.TurnID {
				t.Errorf("%s: turn %s, want %s", name, id, r.TurnID)
			}
			if n := len(w.upstream.Requests()); n != tt.calls {
				t.Errorf("%s: upstream got %d requests, want %d", name, n, tt.calls)
			}
			if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) != 1 {
				t.Errorf("%s: %d requests to people, %v", name, len(page.Items), err)
			}
			events := append([]string{"approval_required", "turn_detached"}, tt.events...)
			events = slices.Insert(events, 3, "turn_ready", "turn_reattached")
			w.until("the turn is not stored any more", func() bool { r, err := w.console.Request(t.Context(), r.ID); return err == nil && r.Agent == nil })
			if diff := cmp.Diff(events, w.audited()); diff != "" {
				t.Errorf("%s: events (-want +got)\n%s", name, diff)
			}
		}
	})
}
