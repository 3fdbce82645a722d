//go:build conformance

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestConformanceRetrieval asks for answers of the Responses API again, by every
// route that has one: they are what the agent was given the first time, people are
// asked about a call once, and nothing of a denied call is in them.
func TestConformanceRetrieval(t *testing.T) {
	d := startDesk(t)
	// What becomes of a call follows from its tool.
	for _, tools := range []string{"keep", "drop", "alter", "keep drop", "drop keep", "keep alter drop", "drop drop", ""} {
		for _, how := range []string{"streamed", "whole", "background", "background, streamed"} {
			t.Run(strings.ReplaceAll(tools, " ", "+")+" "+how, func(t *testing.T) {
				r := d.retrieval(t, tools)
				r.create(how)
				r.getWhole()
				r.getStream()
				r.getFrom()
				r.inputItems()
				r.countInput()
				r.remove()
				r.askedOnce()
			})
		}
	}
}

// desk is where people are asked, for all retrievals.
type desk struct {
	agent agent
	base  string // of Responses

	mu    sync.Mutex
	asked map[string]int // how often people were asked, by session and call id
}

func startDesk(t *testing.T) *desk {
	d := &desk{agent: newAgent(), asked: make(map[string]int)}
	going := func(c fakemodel.Conversation) bool { return strings.HasPrefix(c.User(), "Go") && len(c.Results()) == 0 }
	call := func(c fakemodel.Conversation) fakemodel.Answer {
		return fakemodel.Answer{Reasoning: "Hm.", Text: "Wait.", Calls: callsOfTools(strings.Fields(c.User())[1:])}
	}
	model, err := fakemodel.New((&fakemodel.Model{Rules: []fakemodel.Rule{{When: going, Say: call}}, Otherwise: fakemodel.Answer{Text: continuationText}}).Reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	h := conformance.StartHeldcall(t, conformance.Options{Upstream: model.URL(), Keepalive: time.Hour, Policy: "default: ask\n"})
	d.base = h.Proxy + "/v1/responses"
	ctx, stop := context.WithCancel(context.Background())
	reviewer := &fakemodel.Reviewer{Console: h.Console, Every: 5 * time.Millisecond, Decide: d.decide}
	var running sync.WaitGroup
	running.Go(func() {
		if err := reviewer.Run(ctx); err != nil {
			t.Errorf("reviewing: %v", err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait(); d.agent.client.CloseIdleConnections() })
	return d
}

// callsOfTools are the calls that the model makes, one of each tool.
func callsOfTools(tools []string) []fakemodel.Call {
	var calls []fakemodel.Call
	for i, tool := range tools {
		calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("call_%d_%s", i, tool), Name: tool, Arguments: fmt.Sprintf(`{"path":"/home/%s/%d"}`, tool, i)})
	}
	return calls
}

func (d *desk) decide(q approvals.Request) *fakemodel.Ruling {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[q.SessionID+" "+q.ToolCallID]++
	switch q.ToolName {
	case "drop":
		return &fakemodel.Ruling{Action: approvals.ActionDeny}
	case "alter":
		return &fakemodel.Ruling{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"path":"/altered"}`)}
	}
	return &fakemodel.Ruling{Action: approvals.ActionApprove}
}

// retrieval is one answer, and the agent that asks for it.
type retrieval struct {
	*testing.T
	*desk
	tools string
	calls []fakemodel.Call // as the model makes them
	id    string
	given *conformance.Answer // to the agent
}

func (d *desk) retrieval(t *testing.T, tools string) *retrieval {
	return &retrieval{T: t, desk: d, tools: tools, calls: callsOfTools(strings.Fields(tools))}
}

func (r *retrieval) session() string {
	return strings.NewReplacer("/", "-", "+", "-", ",", "").Replace(r.Name())
}

// ask sends a request of the agent and returns its answer, which must be a 200.
func (r *retrieval) ask(method, path, body string) reply {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := r.agent.ask(ctx, method, r.base+path, r.session(), []byte(body))
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	if got.status != 200 {
		r.Fatalf("%s %s was answered %d %s", method, path, got.status, shorten(got.body))
	}
	return got
}

// create lets the model answer, and takes the answer as it is given first.
func (r *retrieval) create(how string) {
	body := `{"model":"m","input":"Go %s","reasoning":{"summary":"auto"},"stream":%t,"background":%t}`
	background, streamed := strings.Contains(how, "background"), strings.Contains(how, "streamed")
	got := r.ask("POST", "", fmt.Sprintf(body, r.tools, streamed, background))
	r.id = conformance.Responses.Fold(got.body).IDs[0]
	for n := 0; background && !streamed; n++ {
		status := gjson.GetBytes(got.body, "status").String()
		if (status != "queued" && status != "in_progress") || n > 9 {
			break
		}
		got = r.ask("GET", "/"+r.id, "")
	}
	r.judge("the first answer", got)
	r.given = conformance.Responses.Fold(got.body)
}

// judge looks at an answer by itself: the calls are those that were let through.
func (r *retrieval) judge(name string, got reply) {
	r.Helper()
	if found := conformance.Responses.CheckAnswer(got.body); len(found) > 0 {
		r.Errorf("of %s a client would object: %v in %s", name, found, shorten(got.body))
	}
	answer := conformance.Responses.Fold(got.body)
	var want, is []string
	for _, call := range r.calls {
		switch call.Name {
		case "keep":
			want = append(want, call.ID+call.Arguments)
		case "alter":
			want = append(want, call.ID+`{"path":"/altered"}`)
		}
	}
	for _, call := range answer.Calls() {
		is = append(is, call.ID+call.Arguments)
	}
	if !slices.Equal(want, is) {
		r.Errorf("%s has the calls %q, want %q", name, is, want)
	}
	if text := answer.First().Text; !strings.HasPrefix(text, "Wait.") || strings.HasSuffix(text, continuationText) != (want == nil && r.calls != nil) {
		r.Errorf("%s says %q", name, text)
	}
	r.judgeSecrets(name, got)
}

func (r *retrieval) judgeSecrets(name string, got reply) {
	r.Helper()
	for _, call := range r.calls {
		if (call.Name == "drop" && (strings.Contains(string(got.body), call.ID) || strings.Contains(string(got.body), "/home/drop"))) ||
			(call.Name == "alter" && strings.Contains(string(got.body), "/home/alter")) {
			r.Errorf("%s tells of %s: %s", name, call.ID, shorten(got.body))
		}
	}
}

// same compares an answer with the one that was given first.
func (r *retrieval) same(name string, got reply) {
	r.Helper()
	r.judge(name, got)
	answer := conformance.Responses.Fold(got.body)
	if was, is := r.given.First(), answer.First(); was.Text != is.Text || len(was.Items) != len(is.Items) || r.given.Usage != answer.Usage || !slices.Equal(r.given.IDs, answer.IDs) {
		r.Errorf("%s is %s, %q, %d items, %+v; first it was %s, %q, %d items, %+v", name,
			answer.IDs, is.Text, len(is.Items), answer.Usage, r.given.IDs, was.Text, len(was.Items), r.given.Usage)
	}
}

func (r *retrieval) getWhole() {
	for range 2 {
		r.same("the stored answer", r.ask("GET", "/"+r.id, ""))
	}
}

func (r *retrieval) getStream() {
	r.same("the stored stream", r.ask("GET", "/"+r.id+"?stream=true", ""))
}

// getFrom resumes the stream after each of its events.
func (r *retrieval) getFrom() {
	whole := string(r.ask("GET", "/"+r.id+"?stream=true", "").body)
	events := strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")
	for n := 0; n < len(events); n += 3 {
		got := r.ask("GET", fmt.Sprintf("/%s?stream=true&starting_after=%d", r.id, n), "")
		if want := strings.Join(events[n+1:], ""); strings.TrimSuffix(string(got.body), "\n\n") != want {
			r.Errorf("behind event %d the stream goes on%s", n, difference([]byte(want), got.body))
		}
		r.judgeSecrets("the rest of a stream", got)
	}
}

// goOn is what the agent sends after the answer, without the braces.
func (r *retrieval) goOn() string {
	told := []string{`{"role":"user","content":"And then?"}`}
	for i, call := range r.given.Calls() {
		told = slices.Insert(told, i, callOutput(call, resultOf(i)))
	}
	return fmt.Sprintf(`"model":"m","previous_response_id":%q,"input":[%s]`, r.id, strings.Join(told, ","))
}

// inputItems asks for what the next answer was given. What the provider keeps of
// it has the denied calls among it, so heldcall refuses the list.
func (r *retrieval) inputItems() {
	next := gjson.GetBytes(r.ask("POST", "", "{"+r.goOn()+"}").body, "id").String()
	r.refused("GET", "/"+next+"/input_items")
}

// refused sends a request on a route that heldcall does not gate.
func (r *retrieval) refused(method, path string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := r.agent.ask(ctx, method, r.base+path, r.session(), nil)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	if code := gjson.GetBytes(got.body, "error.code").Str; got.status != 501 || code != "route_not_gated" {
		r.Errorf("%s %s was answered %d %s", method, path, got.status, shorten(got.body))
	}
}

func (r *retrieval) countInput() {
	if n := gjson.GetBytes(r.ask("POST", "/input_tokens", "{"+r.goOn()+"}").body, "input_tokens").Int(); n == 0 {
		r.Error("the input has no tokens")
	}
}

func (r *retrieval) remove() {
	if !gjson.GetBytes(r.ask("DELETE", "/"+r.id, "").body, "deleted").Bool() {
		r.Error("the answer is not deleted")
	}
}

func (r *retrieval) askedOnce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, call := range r.calls {
		if n := r.asked[r.session()+" "+call.ID]; n != 1 {
			r.Errorf("people were asked %d times about %s", n, call.ID)
		}
	}
}
