package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
)

// dialogue is a conversation in a dialect: the request that begins it, and one that
// continues it.
type dialogue struct {
	dialect             intercept.Dialect
	path, first, second string
}

var conversations = []dialogue{
	{
		chat.Dialect{},
		"/v1/chat/completions",
		`{"model":"m","messages":[{"role":"system","content":"Be good."},{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}}]}`,
		`{"model":"m","messages":[{"role":"system","content":"Be good."},{"role":"user","content":"do it"},{"role":"assistant","content":"Well."}],"tools":[{"type":"function","function":{"name":"bash"}}]}`,
	},
	{
		responses.Dialect{},
		"/v1/responses",
		`{"model":"m","input":[{"role":"developer","content":"Be good."},{"type":"message","role":"user","content":"do it"}],"tools":[{"type":"function","name":"bash"}]}`,
		`{"model":"m","input":[{"role":"developer","content":"Be good."},{"type":"message","role":"user","content":"do it"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Well."}]}],"tools":[{"type":"function","name":"bash"}]}`,
	},
	{
		messages.Dialect{},
		"/v1/messages",
		`{"model":"m","max_tokens":9,"system":"Be good.","messages":[{"role":"user","content":"do it"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`,
		`{"model":"m","max_tokens":9,"system":"Be good.","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Well."}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`,
	},
}

// The same conversation, begun again some time after its abort, begins a run. A request
// that continues or repeats the stopped one does not.
func TestConversationBeginsAgainAfterAnAbort(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.dialect.Name(), func(t *testing.T) {
			b := newBed(t, c.dialect, "default: ask\n", callBash)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer b.Shutdown(context.WithoutCancel(t.Context()))
			b.turns.Conversations.AbortRest = time.Hour
			first := b.held(c, c.first)
			b.decide(first, approvals.ActionAbortRun)
			if status, got := b.post(c, c.first); status != http.StatusForbidden || !strings.Contains(got, "1h0m0s after the stop") {
				t.Errorf("at once: %d %s", status, got)
			}
			b.turns.Conversations.AbortRest = time.Nanosecond
			if status, got := b.post(c, c.second); status != http.StatusForbidden {
				t.Errorf("the stopped run continues: %d %s", status, got)
			}
			if status, got := b.post(c, c.first, headerRetries, "1"); status != http.StatusForbidden {
				t.Errorf("it tries again: %d %s", status, got)
			}
			second := b.held(c, c.first, headerRetries, "0")
			if second.RunID != first.RunID+"-2" || second.SessionID != first.SessionID {
				t.Errorf("run %q of %q follows %q of %q", second.RunID, second.SessionID, first.RunID, first.SessionID)
			}
			b.turns.Conversations.AbortRest = time.Hour
			b.decide(second, approvals.ActionApprove)
			next := b.held(c, c.second)
			if next.RunID != second.RunID {
				t.Errorf("the new run continues as %q", next.RunID)
			}
			b.decide(next, approvals.ActionAbortRun)
			for _, body := range []string{c.first, c.second} {
				if status, got := b.post(c, body); status != http.StatusForbidden || !strings.Contains(got, first.RunID) {
					t.Errorf("stopped once more: %d %s", status, got)
				}
			}
			b.turns.Conversations.AbortRest = time.Nanosecond
			third := b.held(c, c.first)
			if third.RunID != first.RunID+"-3" {
				t.Errorf("run %q follows %q", third.RunID, second.RunID)
			}
			b.decide(third, approvals.ActionDeny)
		})
	}
}

// A run that the agent has named stays stopped.
func TestNamedRunDoesNotBeginAgain(t *testing.T) {
	c := conversations[0]
	b := newBed(t, c.dialect, "default: ask\n", callBash)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown(context.WithoutCancel(t.Context()))
	b.turns.Conversations.AbortRest = time.Nanosecond
	b.decide(b.held(c, c.first, headerRun, "r1"), approvals.ActionAbortRun)
	if status, got := b.post(c, c.first, headerRun, "r1"); status != http.StatusForbidden || strings.Contains(got, "restart the conversation") {
		t.Errorf("%d %s", status, got)
	}
}

// post sends a request and reads the answer.
func (b *bed) post(c dialogue, body string, header ...string) (status int, answer string) {
	b.t.Helper()
	status, answer, err := b.exchange(c, body, header...)
	if err != nil {
		b.t.Fatal(err)
	}
	return status, answer
}

func (b *bed) exchange(c dialogue, body string, header ...string) (status int, answer string, err error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), soon)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.Addr()+c.path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// held sends a request beside the test and waits until its call is held.
func (b *bed) held(c dialogue, body string, header ...string) (r approvals.Request) {
	b.t.Helper()
	go func() { _, _, _ = b.exchange(c, body, header...) }()
	b.until("a call is held", func() bool {
		page, err := b.gate.Requests(b.t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err != nil || len(page.Items) != 1 {
			return false
		}
		r = page.Items[0]
		return true
	})
	return r
}

// decide answers a request.
func (b *bed) decide(r approvals.Request, action approvals.Action) {
	b.t.Helper()
	if _, err := b.gate.Decide(b.t.Context(), approvals.Decision{RequestID: r.ID, Action: action, ReviewerID: "ann"}); err != nil {
		b.t.Fatal(err)
	}
}
