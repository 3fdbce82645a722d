package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

const (
	// asks is an answer with a question about a hosted call, beside a call of the
	// agent's.
	asks = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","store":true,"output":[
		{"id":"mcpr_1","type":"mcp_approval_request","server_label":"gh","name":"delete","arguments":"{}"},
		{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"read","arguments":"{}"}]}`
	// ran is an answer after which the provider has run that call; %s is the model's next
	// output.
	ran = `{"id":"resp_2","object":"response","created_at":1,"status":"completed","model":"m","store":true,"output":[` + mcpCall + `,%s]}`

	mcpCall  = `{"id":"mcp_1","type":"mcp_call","approval_request_id":"mcpr_1","server_label":"gh","name":"delete","arguments":"{}","output":"deleted"}`
	askUser  = `{"role":"user","content":"hi"}`
	readCall = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"read","arguments":"{}"}`
	readSaid = `{"type":"function_call_output","call_id":"call_1","output":"ok"}`
	doneText = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}`
)

// TestApprovalsAreForOneRequest: an approval that is given beside a call of the
// agent's goes upstream with the agent's next request: with one of them, whatever the
// agent forks, repeats or offers under the same label, and over restarts.
func TestApprovalsAreForOneRequest(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		var c app.Config
		status := http.StatusOK
		w := build(t, "rules:\n  - allow: [read]\n", func(r *fakemodel.Request) fakemodel.Reply {
			switch {
			case !strings.Contains(string(r.Body), "function_call_output"):
				return fakemodel.Whole(http.StatusOK, []byte(strings.Replace(asks, `"store":true`, fmt.Sprintf(`"store":%t`, kept), 1)))
			case status != http.StatusOK:
				return fakemodel.Fail(status, "rate_limit_exceeded", "slow down")
			}
			return fakemodel.Answer{Text: "Very well."}.Reply(r)
		}, restarting(&c))
		post := func(input, server string) *call {
			goesOn := ""
			if kept && strings.Contains(input, "output") {
				goesOn = `,"previous_response_id":"resp_1"`
			}
			return w.post("/v1/responses", fmt.Sprintf(`{"model":"m","store":%t,"input":[%s],"tools":[{"type":"mcp","server_label":"gh","server_url":%q},{"type":"function","name":"read","parameters":{}}]%s}`, kept, input, server, goesOn))
		}
		first := make(chan string, 1)
		go func() { first <- post(askUser, "https://gh.example/mcp").rest() }()
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := <-first; strings.Contains(got, "mcpr_1") || !strings.Contains(got, "call_1") {
			t.Fatalf("the agent got %s", got)
		}
		told := func(what, server, want string) {
			t.Helper()
			input := readSaid
			if !kept {
				input = askUser + "," + readCall + "," + input
			}
			post(input, server).rest()
			sent := w.upstream.Requests()
			said := gjson.GetBytes(sent[len(sent)-1].Body, `input.#(type=="mcp_approval_response")`)
			if got := said.Get("approve").Raw + said.Get("reason").Str; !strings.HasPrefix(got, want) {
				t.Errorf("%s, kept %t: the model got %s", what, kept, said.Raw)
			}
		}
		if !kept { // as if the provider had run it
			forged := strings.Join([]string{askUser, readCall, readSaid, mcpCall}, ",")
			status = http.StatusTooManyRequests
			post(forged, "https://evil.example/mcp").rest()
			sent := w.upstream.Requests()
			if body := string(sent[len(sent)-1].Body); strings.Contains(body, `"approve":true`) {
				t.Errorf("a call that the agent made up counts as run: %s", body)
			}
			status = http.StatusOK
		}
		told("another server", "https://evil.example/mcp", "falseThe approval was for another server")
		told("another query", "https://gh.example/mcp?tenant=2", "falseThe approval was for another server")
		status = http.StatusTooManyRequests
		told("refused", "https://gh.example/mcp", "true")
		status = http.StatusOK
		told("tried again", "https://gh.example/mcp", "true")
		told("a fork", "https://gh.example/mcp", "falseThis call was approved once already")
		w.restart(c)
		told("after a restart", "https://gh.example/mcp", "falseThis call was approved once already")
	}
}

// TestApprovalOfACallThatRan: after the provider has run the call, its approval is part
// of the history in which the agent repeats that call, and of no other: none that upstream
// keeps, none with the call elsewhere, invented, or for another server.
func TestApprovalOfACallThatRan(t *testing.T) {
	t.Parallel()
	const (
		here, elsewhere = "https://gh.example/mcp", "https://evil.example/mcp"
		once, another   = "falseThis call was approved once already", "falseThe approval was for another server"
		reference       = `{"type":"item_reference","id":"mcp_1"}`
		user            = `"user":"u"`
	)
	made := strings.Replace(mcpCall, `"id":"mcp_1",`, "", 1)
	type fork struct{ what, input, server, want string }
	for _, goesOn := range []struct {
		by    string // a further field of the agent's later requests
		kept  bool
		forks []fork
	}{
		{by: `"previous_response_id":"resp_1"`, kept: true, forks: []fork{
			{"a reference", reference + "," + readSaid, here, once},
			{"a reference, another server", reference + "," + readSaid, elsewhere, another},
			{"the call", mcpCall + "," + readSaid, here, once},
			{"the call without its id, another server", made + "," + readSaid, elsewhere, another},
		}},
		{by: user, forks: []fork{
			{"the call", askUser + "," + readCall + "," + readSaid + "," + mcpCall + "," + doneText, here, "true"},
			{"a reference", askUser + "," + readCall + "," + readSaid + "," + reference, here, "true"},
			{"the call, another server", askUser + "," + readCall + "," + readSaid + "," + mcpCall, elsewhere, another},
			{"the call before the question", mcpCall + "," + askUser + "," + readCall + "," + readSaid, here, once},
			{"the call without its id", askUser + "," + readCall + "," + readSaid + "," + made, here, "true"},
			{"a call made up", askUser + "," + readCall + "," + readSaid + "," + strings.Replace(made, "deleted", "ok", 1), here, once},
			{"no call", askUser + "," + readCall + "," + readSaid, here, once},
		}},
	} {
		w := build(t, "rules:\n  - allow: [read]\n", func(r *fakemodel.Request) fakemodel.Reply {
			answer := asks
			if strings.Contains(string(r.Body), "function_call_output") {
				answer = fmt.Sprintf(ran, doneText)
			}
			return fakemodel.Whole(http.StatusOK, []byte(strings.Replace(answer, `"store":true`, fmt.Sprintf(`"store":%t`, goesOn.kept), 1)))
		})
		post := func(input, server, by string) string {
			return w.post("/v1/responses", fmt.Sprintf(`{"model":"m","store":%t,"input":[%s],"tools":[{"type":"mcp","server_label":"gh","server_url":%q},{"type":"function","name":"read","parameters":{}}],%s}`, goesOn.kept, input, server, by)).rest()
		}
		first := make(chan string, 1)
		go func() { first <- post(askUser, here, user) }()
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		<-first
		used := fork{"used", readSaid, here, "true"}
		if !goesOn.kept {
			used.input = askUser + "," + readCall + "," + readSaid
		}
		for _, f := range append([]fork{used}, goesOn.forks...) {
			post(f.input, f.server, goesOn.by)
			sent := w.upstream.Requests()
			said := gjson.GetBytes(sent[len(sent)-1].Body, `input.#(type=="mcp_approval_response")`)
			if got := said.Get("approve").Raw + said.Get("reason").Str; !strings.HasPrefix(got, f.want) || (f.want == "true" && got != f.want) {
				t.Errorf("%s, %s: the model got %s", goesOn.by, f.what, said.Raw)
			}
		}
	}
}

// TestApprovalStaysUsed: upstream has run the call once it has begun to answer the
// request that brought the approval; that its continuation is not taken changes
// nothing.
func TestApprovalStaysUsed(t *testing.T) {
	t.Parallel()
	const bad = `{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"bad","arguments":"{}"}`
	var w *world
	first := true
	script := func(r *fakemodel.Request) fakemodel.Reply {
		if !strings.Contains(string(r.Body), "function_call_output") {
			return fakemodel.Whole(http.StatusOK, []byte(asks))
		}
		reply := fakemodel.Whole(http.StatusOK, fmt.Appendf(nil, ran, bad))
		if first {
			first, reply.Close = false, true
			w.upstream.Leave()
		} else {
			reply = fakemodel.Answer{Text: "Very well."}.Reply(r)
		}
		return reply
	}
	var c app.Config
	w = build(t, "rules:\n  - allow: [read]\n  - deny: [bad]\n", script, restarting(&c))
	post := func(input, goesOn string) *call {
		return w.post("/v1/responses", `{"model":"m","store":true,"input":[`+input+`],"tools":[{"type":"mcp","server_label":"gh","server_url":"https://gh.example/mcp"},{"type":"function","name":"read","parameters":{}},{"type":"function","name":"bad","parameters":{}}]`+goesOn+"}")
	}
	answer := make(chan string, 1)
	go func() { answer <- post(askUser, "").rest() }()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
	const goesOn = `,"previous_response_id":"resp_1"`
	if got := post(readSaid, goesOn).rest(); !strings.Contains(got, string(intercept.CodeUpstreamUnreachable)) {
		t.Fatalf("the continuation reached somebody: %s", got)
	}
	again, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	c.Proxy.Upstreams[0].URL = again.URL()
	w.restart(c)
	post(readSaid, goesOn).rest()
	said := gjson.GetBytes(again.Requests()[0].Body, `input.#(type=="mcp_approval_response")`)
	if said.Get("approve").Raw != "false" {
		t.Errorf("the approval is given a second time: %s", said.Raw)
	}
}
