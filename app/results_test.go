package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// resultAPI writes the requests of an agent in one wire API: a task, and later the result
// of the call read that the model has made for it.
type resultAPI struct {
	path, field string
	call        string // as the history of the agent has it; %s is its id
	result      string // %s are the id and the content
	failed      string // the same of a call that failed, "" if the API has no field for it
	image       string // a content of a text and an image
	streamed    bool   // the agent asks for streams
}

const imageParts = `[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`

var resultAPIs = map[string]resultAPI{
	"chat": {
		path: "/v1/chat/completions", field: "messages",
		call:   `{"role":"assistant","content":"Let me look.","tool_calls":[{"id":%q,"type":"function","function":{"name":"read","arguments":"{}"}}]}`,
		result: `{"role":"tool","tool_call_id":%q,"content":%s}`,
		image:  imageParts,
	},
	"messages": {
		path: "/v1/messages", field: "messages",
		call:   `{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":%q,"name":"read","input":{}}]}`,
		result: `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`,
		failed: `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":true,"content":%s}]}`,
		image:  `[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]`,
	},
	"responses": {
		path: "/v1/responses", field: "input",
		call:   `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},{"type":"function_call","call_id":%q,"name":"read","arguments":"{}"}`,
		result: `{"type":"function_call_output","call_id":%q,"output":%s}`,
		failed: `{"type":"function_call_output","call_id":%q,"status":"incomplete","output":%s}`,
		image:  `[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]`,
	},
}

const (
	resultCall  = "call_Vr3xkQ0pLm7bTz91"
	upstreamKey = "sk-upstream-0123456789"
)

// readsThenTalks is a model that calls read, and answers its result.
func readsThenTalks(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `call_id"`) || strings.Contains(string(r.Body), "tool_use_id") {
		return fakemodel.Answer{Text: "I have read it. " + upstreamKey}.Reply(r)
	}
	return fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{{ID: resultCall, Name: "read", Arguments: "{}"}}}.Reply(r)
}

func withUpstreamKey(c *app.Config) { c.Proxy.Upstreams[0].APIKey = upstreamKey }

func (api *resultAPI) body(items ...string) string {
	task := `{"role":"user","content":"do it"}`
	return withTools(api.path, fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%t,"store":false,%q:[%s]}`, api.streamed, api.field, strings.Join(append([]string{task}, items...), ",")))
}

// release lets a person approve the call of an agent, and returns its request.
func (api *resultAPI) release(w *world, header ...string) approvals.Request {
	w.t.Helper()
	answer := w.post(api.path, api.body(), header...) // a heartbeat begins a whole one
	held := w.pending(1)[0]
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := answer.rest(); !strings.Contains(got, resultCall) {
		w.t.Fatalf("the agent did not get the call: %s", got)
	}
	return held
}

// report sends the result of the call and reads the model's answer.
func (api *resultAPI) report(w *world, result, content string, header ...string) {
	w.t.Helper()
	w.post(api.path, api.body(fmt.Sprintf(api.call, resultCall), fmt.Sprintf(result, resultCall, content)), header...).rest()
}

// result waits until the request of a released call has what done wants.
func (w *world) result(id string, done func(*approvals.CallResult) bool) approvals.CallResult {
	w.t.Helper()
	var poll polling
	for deadline := time.Now().Add(soon); ; poll.sleep() {
		r, err := w.console.Request(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if result := r.Details.Result; result != nil && done(result) {
			return *result
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the result of request %s is %+v", id, r.Details.Result)
		}
	}
}

func hasResult(r *approvals.CallResult) bool { return r.ReceivedAt != nil }
func isReleased(*approvals.CallResult) bool  { return true }

// hostileResult is a text that would do harm in a page, on a terminal, and in JSON.
const hostileResult = "<img src=x onerror=alert(1)>\x1b]0;t\x07\u202eevil\x00 \u2028 {\"a\":1}"

// TestResultsOfApprovedCalls: a decided request shows its release, the result that the
// agent reports and the model's next words, without upstream's key.
func TestResultsOfApprovedCalls(t *testing.T) {
	t.Parallel()
	quoted := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	for i := range 2 * len(resultAPIs) {
		name := slices.Sorted(maps.Keys(resultAPIs))[i/2]
		api := resultAPIs[name]
		api.streamed = i%2 == 0
		t.Run(fmt.Sprintf("%s streamed=%t", name, api.streamed), func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, readsThenTalks, withUpstreamKey)
			long := strings.Repeat("é", 10_000)
			for what, tt := range map[string]struct {
				form, content, preview string
				failed, truncated      bool
			}{
				"text":    {content: `"14 lines"`, preview: "14 lines"},
				"nothing": {content: `""`, preview: ""},
				"image":   {content: api.image, preview: "see\n[image]"},
				"hostile": {content: quoted(hostileResult), preview: hostileResult},
				"secret":  {content: quoted("key " + upstreamKey + "."), preview: "key [upstream key]."},
				"long":    {content: quoted(long), preview: long[:approvals.MaxResultPreview], truncated: true},
				"cut key": {content: quoted(strings.Repeat("x", approvals.MaxResultPreview-5) + upstreamKey), preview: strings.Repeat("x", approvals.MaxResultPreview-5) + "[upst", truncated: true},
				"failed":  {form: api.failed, content: `"no such file"`, preview: "no such file", failed: api.failed != ""},
			} {
				if tt.form == "" {
					tt.form = api.result
				}
				session := []string{"X-Heldcall-Session", what}
				held := api.release(w, session...)
				if r := w.result(held.ID, isReleased); r.ReleasedAt.Before(held.CreatedAt) || r.ReceivedAt != nil {
					t.Errorf("%s: after the release: %+v", what, r)
				}
				api.report(w, tt.form, tt.content, session...)
				r := w.result(held.ID, hasResult)
				if r.Preview != tt.preview || r.Error != tt.failed || r.Truncated != tt.truncated {
					t.Errorf("%s: the result is %+v, want %+v", what, r, tt)
				}
				if r.NextText != "I have read it. [upstream key]" || r.ReceivedAt.Before(r.ReleasedAt) {
					t.Errorf("%s: next text %q at %s", what, r.NextText, r.ReceivedAt)
				}
				e := w.eventOf(approvals.EventCallResult, held.ID)
				if e.Result == nil || e.Result.Preview != tt.preview || e.ToolCallID != resultCall || e.Result.NextText != r.NextText {
					t.Errorf("%s: the event is %+v", what, e)
				}
			}
		})
	}
}

// event waits for the event of a type about a request.
func (w *world) eventOf(typ approvals.EventType, request string) (found approvals.Event) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), soon)
	defer cancel()
	for e, err := range w.console.Events(ctx, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Type == typ && e.RequestID == request {
			return e
		}
	}
	w.t.Fatalf("there is no event %s of request %s", typ, request)
	return found
}

// TestResultsAreOfTheirSession: an agent of another session or principal cannot report the
// result of a call, and the first report counts.
func TestResultsAreOfTheirSession(t *testing.T) {
	t.Parallel()
	for name, api := range resultAPIs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, readsThenTalks, twoClients)
			own := []string{"X-Heldcall-Session", "s1", "Authorization", "Bearer ann-key"}
			held := api.release(w, own...)
			w.result(held.ID, isReleased)
			api.report(w, api.result, `"forged"`, "X-Heldcall-Session", "s2", "Authorization", "Bearer ann-key")
			api.report(w, api.result, `"forged"`, "X-Heldcall-Session", "s1", "Authorization", "Bearer bob-key")
			api.report(w, api.result, `"true"`, own...)
			if r := w.result(held.ID, hasResult); r.Preview != "true" {
				t.Errorf("the result is %+v", r)
			}
			api.report(w, api.result, `"later"`, own...)
			next := api.release(w, own...) // the writes before it are done
			api.report(w, api.result, `"next"`, own...)
			if r := w.result(next.ID, hasResult); r.Preview != "next" {
				t.Errorf("the result of the next call is %+v", r)
			}
			if r := w.result(held.ID, hasResult); r.Preview != "true" {
				t.Errorf("the result was replaced: %+v", r)
			}
		})
	}
}

// contractResults lets an agent report the result of a call. Its command is one that can be read: the
// rule of a second may apply to others.
func contractResults(_ *testing.T, w *world, _ *contractBot) {
	api, ann := resultAPIs["chat"], []string{"Authorization", "Bearer ann-key"}
	body := func(items ...string) string { return strings.Replace(api.body(items...), "do it", "ask result", 1) }
	answer := w.post(api.path, body(), ann...)
	held := w.pending(1)[0]
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	answer.rest()
	w.post(api.path, body(`{"role":"tool","tool_call_id":"`+held.ToolCallID+`","content":[{"type":"text","text":"done"},{"type":"image_url"}]}`), ann...).rest()
	w.result(held.ID, hasResult)
}

// TestResultsAfterARestart: the result of a call that was released before a restart is
// recorded after it.
func TestResultsAfterARestart(t *testing.T) {
	t.Parallel()
	var c app.Config
	api := resultAPIs["chat"]
	w := build(t, askAll, readsThenTalks, restarting(&c))
	held := api.release(w)
	w = w.restarted(c)
	if r := w.result(held.ID, isReleased); hasResult(&r) {
		t.Errorf("before the result: %+v", r)
	}
	api.report(w, api.result, `"14 lines"`)
	w = w.restarted(c) // heldcall writes the rest when it stops
	if r := w.result(held.ID, hasResult); r.Preview != "14 lines" || !strings.HasPrefix(r.NextText, "I have read it.") {
		t.Errorf("the result is %+v", r)
	}
}

// TestResultsOnAnotherReplica: a replica that did not hold the call records its result, of
// an answer that the agent continues by its id.
func TestResultsOnAnotherReplica(t *testing.T) {
	t.Parallel()
	external := onServer(t)
	w, other := build(t, askAll, readsThenTalks, external), build(t, askAll, readsThenTalks, external)
	post := func(w *world, rest string) *call {
		return w.post("/v1/responses", `{"model":"m","stream":true,"store":true,`+rest+"}")
	}
	answer := post(w, `"input":"do it"`)
	held := w.pending(1)[0]
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	id := gjson.Get(strings.TrimPrefix(regexp.MustCompile(`data: .*"response.created".*`).FindString(answer.rest()), "data: "), "response.id").String()
	w.result(held.ID, isReleased)
	deadline := time.Now().Add(soon)
	for found := false; !found; { // the other replica knows the release after moments
		post(other, `"previous_response_id":"`+id+`","input":[{"type":"function_call_output","call_id":"`+resultCall+`","output":"14 lines"}]`).rest()
		page, err := other.console.Requests(t.Context(), approvals.Filter{Limit: 1})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("no result is recorded (%v)", err)
		}
		found = page.Items[0].Details.Result.Received() != time.Time{}
	}
	if r := w.result(held.ID, hasResult); r.Preview != "14 lines" || !strings.HasPrefix(r.NextText, "I have read it.") {
		t.Errorf("the result is %+v", r)
	}
}

// TestResultsOfBrokenAnswers: a result is recorded with the answer to the request that is
// sent again after an error, and without one if the agent disconnects from an answer.
func TestResultsOfBrokenAnswers(t *testing.T) {
	t.Parallel()
	api := resultAPIs["chat"]
	api.streamed = true
	var failing atomic.Bool
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		switch {
		case failing.Load():
			return fakemodel.Fail(429, "rate_limit_exceeded", "slow down")
		case strings.Contains(string(r.Body), "endless"):
			reply := fakemodel.Answer{Text: "I begin"}.Reply(r)
			reply.Body, reply.End = reply.Body[:len(reply.Body)-2], fakemodel.EndStall
			return reply
		}
		return readsThenTalks(r)
	})
	held := api.release(w)
	failing.Store(true)
	api.report(w, api.result, `"14 lines"`)
	failing.Store(false)
	api.report(w, api.result, `"14 lines"`)
	if r := w.result(held.ID, hasResult); r.Preview != "14 lines" || !strings.HasPrefix(r.NextText, "I have read it.") {
		t.Errorf("after a retry the result is %+v", r)
	}
	held = api.release(w)
	body := api.body(fmt.Sprintf(api.call, resultCall), fmt.Sprintf(api.result, resultCall, `"endless"`))
	c := w.post(api.path, body)
	c.until("gin")
	c.cancel()
	if r := w.result(held.ID, hasResult); r.Preview != "endless" || r.NextText != "" {
		t.Errorf("after the agent disconnected the result is %+v", r)
	}
}

// TestResultsOff: with audit.results false nothing is recorded of what follows a release.
func TestResultsOff(t *testing.T) {
	t.Parallel()
	api := resultAPIs["chat"]
	var c app.Config
	w := build(t, askAll, readsThenTalks, func(c *app.Config) { c.Audit.Results = false }, restarting(&c))
	held := api.release(w)
	api.report(w, api.result, `"14 lines"`)
	w = w.restarted(c) // all writes are done
	r, err := w.console.Request(t.Context(), held.ID)
	if err != nil || r.Details.Result != nil {
		t.Errorf("%v: the result is %+v", err, r.Details.Result)
	}
}
