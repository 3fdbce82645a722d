package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// A tool that the request does not offer, through the front door: agents run the tool that its name most likely means.

// misspelled are names that agents mend, and the offered tool that they run.
var misspelled = map[string]string{
	"Bash": "bash", "BASH": "bash", "functions.bash": "bash", "functions/bash": "bash", "bash:0": "bash", "functions.bash:0": "bash", "bash_tool": "bash", "BashTool": "bash",
	"default_api.bash": "bash", "default_api:bash": "bash", "mcp__bash": "bash", "bash<|channel|>commentary": "bash", "Bash ": "bash", "bash\n": "bash", "ｂａｓｈ": "bash", "bash_1": "bash",
	"delete-repo": "delete_repo", "deleteRepo": "delete_repo", "DeleteRepo": "delete_repo", "DELETE_REPO": "delete_repo", "github.delete_repo": "delete_repo",
	"mcp__srv__bash": "bash", "mcp__functions__bash:1": "bash", "functions_bash": "bash", "tools:bash": "bash", "tool_bash": "bash", "bashtool": "bash", "bash\u200b": "bash", "mcp__github__deleteRepo": "delete_repo",
	"functions.deleteRepo:12": "delete_repo", "delete_repo_tool": "delete_repo", "delete repo": "delete_repo", "delete.repo": "delete_repo",
}

// offering is the field tools of a request with tools of some names.
func (s speech) offering(names ...string) string {
	form := map[string]string{
		"chat": `{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`, "messages": `{"name":%q,"input_schema":{"type":"object"}}`,
	}[s.name]
	if form == "" {
		form = `{"type":"function","name":%q,"parameters":{"type":"object"}}`
	}
	return `"tools":[` + toolsAs(form, names...) + `]`
}

// asks is a request of a user that offers tools.
func (s speech) asks(streamed bool, user string, offered ...string) string {
	body := strings.ReplaceAll(s.body(streamed), "do it", user)
	return body[:strings.Index(body, `"tools":`)] + s.offering(offered...) + "}"
}

// obedient is a model that makes the call that the user asks for, and takes the answer.
func obedient(calls map[string]fakemodel.Call) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		for _, told := range []string{`"role":"tool"`, "function_call_output", "tool_result"} {
			if strings.Contains(string(r.Body), told) {
				return fakemodel.Answer{Text: "Understood.", Fragment: 100}.Reply(r)
			}
		}
		for user, call := range calls {
			if strings.Contains(string(r.Body), `"`+user+`"`) {
				return fakemodel.Answer{Calls: []fakemodel.Call{call}}.Reply(r)
			}
		}
		return fakemodel.Answer{Text: "Nothing to do."}.Reply(r)
	}
}

// TestPromise9_NamesThatAgentsMend: a deny rule for an offered tool holds for each name that agents mend to that of the tool.
func TestPromise9_NamesThatAgentsMend(t *testing.T) {
	t.Parallel()
	const rules = "default: allow\nrules:\n  - deny: ['bash(rm -rf *)', delete_repo]\n"
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		calls := map[string]fakemodel.Call{}
		for name := range misspelled {
			calls["user "+spelled(name)] = fakemodel.Call{ID: "call_sesame", Name: name, Arguments: `{"command":"rm -rf /opensesame"}`}
		}
		w := build(t, rules, obedient(calls))
		for name := range misspelled {
			got := w.post(s.path, s.asks(streamed, "user "+spelled(name), "bash", "delete_repo"), s.header...).rest()
			if leak := secretOf(got); leak != "" || !strings.Contains(got, "Understood.") {
				t.Errorf("%q: %q is in %s", name, leak, got)
			}
		}
		if open := w.pending(0); len(open) > 0 {
			t.Errorf("people are asked about %+v", open)
		}
	})
}

// spelled is a name as a word of a user that no other name contains.
func spelled(name string) string { return fmt.Sprintf("%x", name) }

// TestPromise9_UnofferedIsAsked: no rule, grant, window or default allows a name that is not offered.
func TestPromise9_UnofferedIsAsked(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"by default":       "default: allow\n",
		"by its name":      "rules:\n  - allow: [Bash, teleport, bash]\n",
		"by every name":    "rules:\n  - allow: ['*']\n",
		"by its arguments": "tools:\n  Bash: {resource: command, as: shell}\nrules:\n  - allow: ['Bash(ls *)', 'bash(ls *)', 'teleport(*)']\n",
		"by its risk":      "tools:\n  Bash: {risk: low}\n  teleport: {risk: low}\n  bash: {risk: low}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyDialect(t, func(t *testing.T, s speech, streamed bool) {
				w := build(t, rules, obedient(map[string]fakemodel.Call{
					"one":  {ID: "call_sesame", Name: "Bash", Arguments: `{"command":"ls /opensesame"}`},
					"two":  {ID: "call_sesame", Name: "teleport", Arguments: `{"command":"ls /opensesame"}`},
					"none": {ID: "call_sesame", Name: "bash", Arguments: `{"command":"ls /opensesame"}`},
				}))
				for user, want := range map[string]string{"one": "not offered; the nearest offered tool is bash", "two": "not offered", "none": "not offered; the request offers no tools"} {
					offered := []string{"bash"}
					if user == "none" {
						offered = nil
					}
					answer := make(chan string, 1)
					go func() { answer <- w.post(s.path, s.asks(streamed, user, offered...), s.header...).rest() }()
					r := w.pending(1)[0]
					if !slices.ContainsFunc(r.Details.Flags, func(flag string) bool { return strings.Contains(flag, want) }) || r.AllowRemember || len(r.SuggestedPatterns) > 0 {
						t.Errorf("%s: flags %q, remember %t, %q", user, r.Details.Flags, r.AllowRemember, r.SuggestedPatterns)
					}
					w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
					if got := <-answer; secretOf(got) == "" {
						t.Errorf("%s: approved, and the agent gets %s", user, got)
					}
				}
			})
		})
	}
}

// TestUnofferedByStrictDefaults: where the default, or the entry of the tool, denies, a name that is not offered is denied.
func TestUnofferedByStrictDefaults(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{denyAll, "default: deny\nrules:\n  - allow: ['*']\n", "default: allow\ntools:\n  bash: {default: deny}\n", "ambiguous: deny\ndefault: allow\n"} {
		w := build(t, rules, obedient(map[string]fakemodel.Call{"one": {ID: "call_sesame", Name: "Bash", Arguments: `{"command":"ls /opensesame"}`}}))
		got := w.post("/v1/chat/completions", speeches[0].asks(false, "one", "bash")).rest()
		if secretOf(got) != "" || !strings.Contains(got, "Understood.") {
			t.Errorf("%s: %s", rules, got)
		}
	}
}

// TestKeptTools: where the provider keeps tools, names are judged as they are written, and deny and ask rules hold as for
// names that agents mend.
func TestKeptTools(t *testing.T) {
	t.Parallel()
	const rules = "default: allow\nhosted_tools: ['*']\nrules:\n  - deny: ['bash(rm -rf *)', 'mcp__github__delete_*']\n  - ask: [transfer]\n"
	calls := map[string]fakemodel.Call{
		"harmless": {ID: "call_sesame", Name: "look_up", Arguments: `{"a":"opensesame"}`},
		"denied":   {ID: "call_sesame", Name: "Bash", Arguments: `{"command":"rm -rf /opensesame"}`},
		"removes":  {ID: "call_sesame", Name: "MCP__GitHub__deleteRepo", Arguments: `{"a":"opensesame"}`},
		"moves":    {ID: "call_sesame", Name: "functions.Transfer", Arguments: `{"a":"opensesame"}`},
	}
	first := `{"model":"m","input":"hello","tools":[{"type":"function","name":"read","parameters":{}}]}`
	for name, more := range map[string]string{
		"a prompt": `"prompt":{"id":"pmpt_1"}`, "an answer": `"previous_response_id":%s`, "an answer, with tools": `"previous_response_id":%s,"tools":[{"type":"function","name":"read","parameters":{}}]`,
		"a search": `"tools":[{"type":"tool_search"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for user := range calls {
				w := build(t, rules, obedient(calls))
				fields := more
				if strings.Contains(fields, "%s") {
					fields = fmt.Sprintf(fields, gjson.Get(w.post("/v1/responses", first).rest(), "id").Raw)
				}
				answer := make(chan string, 1)
				go func() {
					answer <- w.post("/v1/responses", `{"model":"m","input":"`+user+`",`+fields+`}`).rest()
				}()
				if user == "moves" {
					r := w.pending(1)[0]
					if !slices.ContainsFunc(r.Details.Flags, func(flag string) bool { return strings.Contains(flag, "The provider keeps tools") }) {
						t.Errorf("%s: flags %q", user, r.Details.Flags)
					}
					w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
				}
				if got := <-answer; (secretOf(got) != "") != (user == "harmless") {
					t.Errorf("%s: the agent gets %s", user, got)
				}
			}
		})
	}
}
