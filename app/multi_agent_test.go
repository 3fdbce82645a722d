package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// subagentPolicy tells the agents at the provider apart.
const subagentPolicy = `default: allow
hosted_tools: [multi_agent]
rules:
  - deny: [bash]
    when: subagent != "" && subagent != "/root"
  - ask: [transfer]
    when: subagent.startsWith("/root/")
`

const multiAgentRequest = `{"model":"m","stream":true,"multi_agent":{"enabled":true},"input":"go","tools":[{"type":"function","name":"bash","parameters":{"type":"object"}},{"type":"function","name":"transfer","parameters":{"type":"object"}}]}`

// spawned is an item by which the provider's agents work together.
const spawned = `{"type":"multi_agent_call","id":"mac_1","call_id":"call_s","action":"spawn_agent","arguments":"{}","agent":{"agent_name":"/root"}}`

// TestSubagents: rules know which agent at the provider makes a call, and the agent gets the call with it. What the
// provider runs passes.
func TestSubagents(t *testing.T) {
	t.Parallel()
	call := func(tool, by string) string {
		return `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"` + tool + `","arguments":"{}","status":"completed"` + by + `}`
	}
	const root, look = `,"agent":{"agent_name":"/root"}`, `,"agent":{"agent_name":"/root/look"}`
	for name, tt := range map[string]struct {
		call, want string // "": the call is denied
	}{
		"denied of the one":      {call("bash", look), ""},
		"allowed of the root":    {call("bash", root), `"agent":{"agent_name":"/root"}`},
		"allowed of nobody":      {call("bash", ""), `"call_id":"call_1"`},
		"asked about of the one": {call("transfer", look), `"agent":{"agent_name":"/root/look"}`},
		"not asked of the root":  {call("transfer", root), `"agent":{"agent_name":"/root"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, subagentPolicy, func(r *fakemodel.Request) fakemodel.Reply {
				if strings.Contains(string(r.Body), "function_call_output") {
					return fakemodel.Answer{Text: "Understood."}.Reply(r)
				}
				return fakemodel.Answer{Parts: []fakemodel.Part{{Item: spawned}, {Item: tt.call}}}.Reply(r)
			})
			answer := make(chan string, 1)
			go func() { answer <- w.post("/v1/responses", multiAgentRequest).rest() }()
			if strings.HasPrefix(name, "asked") {
				q := w.pending(1)[0]
				if q.Details.Subagent != "/root/look" || len(q.Details.Flags) > 0 { // bots leave requests with flags to people
					t.Errorf("the request has %q and the flags %q", q.Details.Subagent, q.Details.Flags)
				}
				w.decide(q.ID, approvals.Decision{Action: approvals.ActionApprove})
			}
			got := <-answer
			if !strings.Contains(got, `"multi_agent_call"`) || strings.Contains(got, "call_1") != (tt.want != "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s", got)
			}
			if entries := w.events(2); strings.Contains(entries, `"subagent":"/root/look"`) != strings.Contains(tt.call, look) || strings.Contains(entries, `"subagent":"/root"`) != strings.Contains(tt.call, root) {
				t.Errorf("the audit log has %s", entries)
			}
		})
	}
}

// TestMultiAgentIsJudged: the provider runs the agents, so that the request is judged.
func TestMultiAgentIsJudged(t *testing.T) {
	t.Parallel()
	w := build(t, "default: allow\nhosted_tools: deny\n", fakemodel.Answer{Text: "Hi."}.Reply)
	for field, want := range map[string]int{`{"enabled":true}`: http.StatusForbidden, `{"enabled":false}`: http.StatusOK, `null`: http.StatusOK} {
		a := w.post("/v1/responses", strings.Replace(multiAgentRequest, `{"enabled":true}`, field, 1))
		body := a.rest()
		if a.resp.StatusCode != want || strings.Contains(body, "hosted_tool_refused") != (want == http.StatusForbidden) {
			t.Errorf("%s: %d %s", field, a.resp.StatusCode, body)
		}
	}
}

// TestResultsBeforeAConfigurationUpdate: Codex sends such an item behind results, which are new all the same.
func TestResultsBeforeAConfigurationUpdate(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","input":[{"role":"user","content":"do it"},{"type":"function_call","call_id":"call_r","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"call_r","output":"see ticket-77!"},%ITEM{"role":"user","content":"and?"}]}`
	for _, item := range []string{"", `{"type":"configuration_update","reasoning":{"effort":"high"}},`, `{"type":"compaction_trigger"},`} {
		w := build(t, strings.ReplaceAll(judgesResults, "[read]", `["*"]`), fakemodel.Answer{Text: "Well."}.Reply)
		api := resultAPI{path: "/v1/responses"}
		if _, sent := w.answered(api, strings.Replace(body, "%ITEM", item, 1)); strings.Contains(sent, "ticket") || !strings.Contains(sent, "see [redacted]!") || !strings.Contains(sent, item) {
			t.Errorf("after %q upstream got %s", item, sent)
		}
	}
}
