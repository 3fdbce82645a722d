package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Agents move cache marks, and write a text as one part or as a string, from request to
// request. People are asked about the result once, and a denied result stays denied.
func TestAskedResultInAnotherForm(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, api := range resultAPIs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, judgesResults, readsThenTalks)
			textType := "text"
			if api.path == "/v1/responses" {
				textType = "input_text"
			}
			parts := `[{"type":"` + textType + `","text":"review me"}]`
			marked := strings.Replace(api.reporting(`[{"type":"`+textType+`","text":"review\u0020me",`+mark+`}]`), `"name":"read"`, `"name":"read",`+mark, 1)
			answer := w.post(api.path, marked)
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
			answer.rest()
			for _, body := range []string{api.reporting(parts), api.reporting(`"review me"`)} {
				if _, sent := w.answered(api, body); !strings.Contains(sent, "does not let you read") {
					t.Errorf("upstream got %s", sent)
				}
			}
			w.pending(0)
		})
	}
}

// A decision about a result with an image is not one about the same text with another image.
func TestAskedResultWithAnotherImage(t *testing.T) {
	t.Parallel()
	for name, api := range resultAPIs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, judgesResults, readsThenTalks)
			body := api.reporting(strings.Replace(api.image, `"see"`, `"review me"`, 1))
			answer := w.post(api.path, body)
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
			answer.rest()
			if _, sent := w.answered(api, body); sent != body {
				t.Errorf("upstream got %s", sent)
			}
			answer = w.post(api.path, strings.Replace(body, "AAAA", "BBBB", 1))
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
			answer.rest()
		})
	}
}

// An agent that first names the answer before a result and later sends the whole history
// reports the same result: people are asked once.
func TestAskedResultOfAStoredAnswer(t *testing.T) {
	t.Parallel()
	w := build(t, judgesResults, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), "call_output") {
			return fakemodel.Answer{Text: "Thanks."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_a", Name: "read", Arguments: "{}"}}}.Reply(r)
	})
	session := []string{"X-Heldcall-Session", "s"}
	first := w.post("/v1/responses", `{"model":"m","input":"do it"}`, session...).rest()
	const output = `{"type":"function_call_output","call_id":"call_a","output":"review me"}`
	answer := w.post("/v1/responses", fmt.Sprintf(`{"model":"m","previous_response_id":%q,"input":[%s]}`, gjson.Get(first, "id").Str, output), session...)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
	answer.rest()
	call := gjson.Get(first, `output.#(type="function_call")`).Raw
	w.post("/v1/responses", `{"model":"m","input":[{"role":"user","content":"do it"},`+call+`,`+output+`]}`, session...).rest()
	requests := w.upstream.Requests()
	if last := string(requests[len(requests)-1].Body); len(requests) != 3 || !strings.Contains(last, "does not let you read") {
		t.Errorf("upstream got %d requests, the last is %s", len(requests), last)
	}
}

// Two requests that report the same result wait for one decision, and both get it.
func TestAskedResultOfTwoRequests(t *testing.T) {
	t.Parallel()
	eachResultAPI(t, func(t *testing.T, api resultAPI) {
		w := build(t, judgesResults, readsThenTalks)
		first := w.post(api.path, api.reporting(`"review me"`))
		w.pending(1)
		second := w.post(api.path, strings.Replace(api.reporting(`"review me"`), `"m"`, `"m2"`, 1))
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
		for _, answer := range []*call{first, second} {
			if got := answer.rest(); !strings.Contains(got, "I ha") {
				t.Errorf("the agent got %s", got)
			}
		}
		w.only(approvals.StatusDenied)
	})
}
