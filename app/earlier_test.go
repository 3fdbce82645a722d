package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// editsBesideList lists a folder and edits a file in one answer, until the user says stop.
func editsBesideList(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), "stop now") {
		return fakemodel.Answer{Text: "Done."}.Reply(r)
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{
		{ID: "call_list", Name: "ls", Arguments: `{"path":"src"}`},
		{ID: "call_edit", Name: "Edit", Arguments: `{"file_path":"/srv/a.go","old_string":"var b = 1","new_string":"var b = 2"}`},
	}}.Reply(r)
}

// ledTo is a request to the model whose history has these calls of a tool on /srv/a.go, each with its result.
func ledTo(t *testing.T, user string, pairs ...string) string {
	t.Helper()
	items := []string{`{"role":"user","content":"do it"}`}
	for i := 0; i < len(pairs); i += 2 {
		result, err := json.Marshal(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		items = append(items,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{\"file_path\":\"/srv/a.go\"}"}}]}`, i, pairs[i]),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, result))
	}
	if user != "" {
		items = append(items, fmt.Sprintf(`{"role":"user","content":%q}`, user))
	}
	const tools = `[{"type":"function","function":{"name":"ls"}},{"type":"function","function":{"name":"Edit"}},{"type":"function","function":{"name":"Read"}}]`
	return fmt.Sprintf(`{"model":"m","tools":%s,"messages":[%s]}`, tools, strings.Join(items, ","))
}

// TestEarlierCalls: a request has the calls that led to it, the allowed ones too, with their results, and the line of an edit where
// an earlier result shows it.
func TestEarlierCalls(t *testing.T) {
	t.Parallel()
	const shown = "     9→package a\n    10→var b = 1\n"
	step := func(id, tool, preview, result string) approvals.Step {
		return approvals.Step{ToolCallID: id, ToolName: tool, Preview: preview, Result: result}
	}
	list := approvals.Step{ToolCallID: "call_list", ToolName: "ls", Preview: "src", Waits: true}
	long := strings.Repeat("é", 500)
	for name, tt := range map[string]struct {
		history []string
		results bool
		steps   []approvals.Step
		line    int
	}{
		"read":                 {[]string{"Read", shown}, true, []approvals.Step{step("call_0", "Read", "/srv/a.go", strings.TrimSpace(shown)), list}, 10},
		"read without numbers": {[]string{"Read", "var b = 1"}, true, []approvals.Step{step("call_0", "Read", "/srv/a.go", "var b = 1"), list}, 0},
		"changed since":        {[]string{"Read", shown, "Edit", "ok"}, true, []approvals.Step{step("call_0", "Read", "/srv/a.go", strings.TrimSpace(shown)), step("call_2", "Edit", "/srv/a.go", "ok"), list}, 0},
		"long":                 {[]string{"Read", long}, true, []approvals.Step{step("call_0", "Read", "/srv/a.go", long[:236]+"…"), list}, 0},
		"a key":                {[]string{"Read", "key " + upstreamKey}, true, []approvals.Step{step("call_0", "Read", "/srv/a.go", "key [upstream key]"), list}, 0},
		"nothing before":       {nil, true, []approvals.Step{list}, 0},
		"results off":          {[]string{"Read", shown}, false, []approvals.Step{step("call_0", "Read", "/srv/a.go", ""), list}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, "default: ask\nrules:\n  - allow: [ls]\n", editsBesideList, withUpstreamKey, func(c *app.Config) { c.Audit.Results = tt.results })
			answer := w.post("/v1/chat/completions", ledTo(t, "", tt.history...))
			r := w.pending(1)[0]
			if diff := cmp.Diff(tt.steps, r.Context.Steps); diff != "" {
				t.Error(diff)
			}
			var files []approvals.File
			if tt.line > 0 {
				files = []approvals.File{{Path: "/srv/a.go", Exists: true, Source: approvals.FromResult, Lines: []int{tt.line}}}
			}
			if diff := cmp.Diff(files, r.Details.Files); diff != "" {
				t.Error(diff)
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
			answer.rest()
		})
	}
}

// TestRunAnswered: a run has the time of an answer without calls, and not that of one with calls.
func TestRunAnswered(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, editsBesideList)
	run := []string{"X-Heldcall-Session", "s", "X-Heldcall-Run", "r"}
	w.post("/v1/chat/completions", ledTo(t, ""), run...).rest()
	if r := w.run("r", approvals.RunRunning); !r.AnsweredAt.IsZero() {
		t.Errorf("after an answer with calls: %+v", r)
	}
	w.post("/v1/chat/completions", ledTo(t, "stop now"), run...).rest()
	w.until("the run is answered", func() bool { return !w.run("r", approvals.RunRunning).AnsweredAt.IsZero() })
	w.post("/v1/chat/completions", ledTo(t, ""), run...).rest()
	w.until("the run goes on", func() bool { return w.run("r", approvals.RunRunning).AnsweredAt.IsZero() })
}
