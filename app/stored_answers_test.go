package app_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// A stored answer has one request and one decision for each call, however many agents fetch it.

// fetches are requests for one stored answer at once: whole, streamed, and from an event on.
func (w *world) fetches(id string) (wait func() []string) {
	queries := []string{"", "", "?stream=true", "?stream=true&starting_after=0"}
	answers := make([]string, len(queries))
	var all sync.WaitGroup
	for i, query := range queries {
		all.Go(func() { answers[i] = w.get(w.url("/v1/responses/" + id + query)) })
	}
	return func() []string { all.Wait(); return answers }
}

// background is a model whose answer in the background has calls. Its next answer repeats their results.
func background() *fakemodel.Model {
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(list("call_sesame1Xk9Vr3", sesame))},
		{When: fakemodel.UserSays("do both"), Say: fakemodel.Say(fakemodel.Answer{Calls: []fakemodel.Call{
			{ID: "call_sesame1Xk9Vr3", Name: "bash", Arguments: sesame}, {ID: "call_sesame2Xk9Vr3", Name: "read", Arguments: `{"path":"x"}`},
		}})},
	}, Otherwise: fakemodel.Answer{Text: "Understood."}}
}

func TestStoredAnswerIsDecidedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		say      string
		decide   []approvals.Decision // in the order of the calls
		has, not string               // of each answer
	}{
		"approved": {"do it", []approvals.Decision{{Action: approvals.ActionApprove}}, "call_sesame1", "Understood"},
		"changed":  {"do it", []approvals.Decision{{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls -l"}`)}}, "ls -l", "opensesame"},
		"denied":   {"do it", []approvals.Decision{{Action: approvals.ActionDeny}}, "Understood.", "call_sesame1"},
		"mixed":    {"do both", []approvals.Decision{{Action: approvals.ActionDeny}, {Action: approvals.ActionApprove}}, "call_sesame2", "call_sesame1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, background().Reply)
			id := gjson.Get(w.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":%q,"background":true,"tools":[{"type":"function","name":"bash","parameters":{}}]}`, tt.say)).rest(), "id").Str
			w.get(w.url("/v1/responses/" + id)) // in progress
			wait := w.fetches(id)
			requests := w.pending(len(tt.decide))
			for i, d := range tt.decide {
				at := i
				if len(requests) == 2 && requests[0].ToolName == "read" {
					at = 1 - i
				}
				w.decide(requests[at].ID, d)
			}
			for i, got := range append(wait(), w.fetches(id)()...) {
				for range 3 { // the answer after a denial is made in the background too
					if !strings.Contains(got, tt.has) && tt.has == "Understood." {
						got += w.get(w.url("/v1/responses/" + id))
					}
				}
				if !strings.Contains(got, tt.has) || strings.Contains(got, tt.not) {
					t.Errorf("agent %d has got %s", i, got)
				}
			}
			continuations := 0
			for _, r := range w.upstream.Requests()[1:] {
				if r.Method == "POST" {
					continuations++
				}
			}
			if continued := name == "denied"; (continuations == 1) != continued || continuations > 1 {
				t.Errorf("the answer was continued %d times", continuations)
			}
			page, err := w.console.Requests(t.Context(), approvals.Filter{})
			if err != nil || len(page.Items) != len(tt.decide) {
				t.Errorf("%d requests, %v", len(page.Items), err)
			}
		})
	}
}

// The agent loses its stream while the call is held, and fetches the answer: people are not asked again,
// and its request stays when the first turn ends without its agent.
func TestStoredAnswerIsFetchedAfterItsStreamBroke(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, background().Reply)
	c := w.post("/v1/responses", `{"model":"m","input":"do it","background":true,"stream":true,"tools":[{"type":"function","name":"bash","parameters":{}}]}`)
	id := gjson.Get(strings.TrimPrefix(strings.Split(c.until("\n\n"), "\n")[1], "data: "), "response.id").Str
	request := w.pending(1)[0]
	c.cancel()
	wait := w.fetches(id)
	if again := w.pending(1)[0]; again.ID != request.ID {
		t.Fatal("people are asked again")
	}
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	for _, got := range wait() {
		if !strings.Contains(got, "call_sesame1") {
			t.Errorf("an agent has got %s", got)
		}
	}
	w.pending(0)
}

// Two agents fetch an answer whose call is denied. One of them has the answer continued; the other, which
// waits for that, gets heartbeats too.
func TestPromise14_NeverSilent_Fetches(t *testing.T) {
	t.Parallel()
	model, continued, answer := background(), make(chan struct{}), make(chan struct{})
	var posts atomic.Int64
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		if r.Method == http.MethodPost && posts.Add(1) == 2 {
			close(continued)
			<-answer
		}
		return model.Reply(r)
	})
	id := gjson.Get(w.post("/v1/responses", `{"model":"m","input":"do it","background":true,"tools":[{"type":"function","name":"bash","parameters":{}}]}`).rest(), "id").Str
	w.get(w.url("/v1/responses/" + id)) // in progress
	agents := [2]*fetched{w.fetch(id), w.fetch(id)}
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
	<-continued
	for i, agent := range agents {
		before := heartbeats(agent.String(), true)
		for deadline := time.Now().Add(soon); heartbeats(agent.String(), true) < before+20; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("agent %d gets no heartbeats while the answer is continued: %s", i, agent)
				break
			}
		}
	}
	close(answer)
	for i, agent := range agents {
		if got := agent.rest(); strings.Contains(got, "call_sesame1") {
			t.Errorf("agent %d has got %s", i, got)
		}
	}
}

// fetched is what an agent has got of a stored answer so far.
type fetched struct {
	output logged
	ended  chan struct{}
}

// fetch fetches a stored answer as a stream.
func (w *world) fetch(id string) *fetched {
	w.t.Helper()
	resp, err := http.Get(w.url("/v1/responses/" + id + "?stream=true"))
	if err != nil {
		w.t.Fatal(err)
	}
	f := &fetched{ended: make(chan struct{})}
	w.t.Cleanup(func() { resp.Body.Close(); <-f.ended })
	go func() {
		defer close(f.ended)
		_, _ = io.Copy(&f.output, resp.Body)
	}()
	return f
}

func (f *fetched) String() string { return f.output.String() }

// rest waits for the end of the answer and returns all of it.
func (f *fetched) rest() string {
	<-f.ended
	return f.String()
}
