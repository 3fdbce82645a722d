package messages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
)

func TestSession(t *testing.T) {
	for body, want := range map[string]string{
		`"metadata":{"user_id":"user_0a_account_b-1_session_c-2"}`:                                    "c-2",
		`"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"c-3\"}"}`: "c-3",
		`"metadata":{"session_id":"c-4","user_id":"u"}`:                                               "c-4",
		`"metadata":{"user_id":"u"}`:                                                                  "",
		`"metadata":{"user_id":"{\"session_id\":\"a\",\"session_id\":\"b\"}"}`:                        "",
		`"metadata":null`: "",
	} {
		r := asking(t, `{"messages":[{"role":"user","content":"hi"}],`+body+`}`)
		session, opening := r.Info().Session, r.Opening().String()
		if session != want || !strings.HasSuffix(opening, "\nhi") {
			t.Errorf("%s: session %q, opening %q", body, session, opening)
		}
	}
}

// Messages with tool results and reminders only are not the user's.
func TestUserMessages(t *testing.T) {
	const results = `{"type":"tool_result","tool_use_id":"a","content":"ok"}`
	for _, tt := range []struct {
		messages []string
		last     string
		task     string
	}{
		{[]string{user(hi)}, "hi", "1\nhi"},
		{[]string{user(hi), system(`"x"`), assistant(`"y"`), user(`[` + results + `]`)}, "hi", "1\nhi"},
		{[]string{user(`[` + reminder + `,{"type":"text","text":"hi"}]`), assistant(`"y"`), user(`[` + results + `,` + reminder + `]`)}, "hi", "1\nhi"},
		{[]string{user(hi), assistant(`"y"`), user(`[` + results + `,{"type":"text","text":"Stop that."}]`)}, "Stop that.", "2\nStop that."},
	} {
		r := asking(t, conversation(tt.messages...))
		if r.LastUser() != tt.last || r.Task(0).String() != tt.task {
			t.Errorf("%s: last user message %q, task %q", tt.messages, r.LastUser(), r.Task(0).String())
		}
	}
}

func TestOfferedTools(t *testing.T) {
	r := asking(t, `{"messages":[],"tools":[
		{"name":"read","description":"reads","input_schema":{"type":"object"}},{"type":"custom","name":"write"},
		{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"edit"},{"type":"computer_20251124","name":"computer"},{"type":"memory_20250818","name":"memory"},
		{"type":"web_search_20250305","name":"web_search"},{"type":"code_execution_20250825","name":"code_execution"},{"type":"tool_search_tool_regex_20251119","name":"find"},
		{"type":"bash_of_another_kind","name":"other"},{"type":"mcp_toolset","mcp_server_name":"github"},{"type":"mcp_toolset","mcp_server_name":"wiki"}],
		"mcp_servers":[{"type":"url","name":"github","url":"https://Git.example/mcp?key=x"},{"type":"url","name":"mail"}]}`)
	want := []intercept.HostedTool{{Name: "mcp:https://git.example/mcp"}, {Name: "mcp:mail"}, {Name: "web_search_20250305"}, {Name: "code_execution_20250825"}, {Name: "tool_search_tool_regex_20251119"}, {Name: "bash_of_another_kind"}, {Name: "mcp:wiki"}}
	if d := cmp.Diff(want, r.Hosted()); d != "" {
		t.Errorf("hosted (-want +got):\n%s", d)
	}
	for _, name := range []string{"read", "write", "bash", "edit", "computer", "memory"} {
		if _, found := r.Tool(name); !found {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"web_search", "find", "other", "", "github"} {
		if _, found := r.Tool(name); found {
			t.Errorf("%s is the agent's", name)
		}
	}
	if tool, _ := r.Tool("read"); tool.Description != "reads" || string(tool.Parameters) != `{"type":"object"}` || tool.FreeText {
		t.Errorf("read is %+v", tool)
	}
}

// Messages can add tools, also in a compacted history.
func TestToolsOfferedInMessages(t *testing.T) {
	addition := func(definition string) string {
		return `{"type":"tool_addition","tool":{"type":"tool_definition","definition":` + definition + `}}`
	}
	r := asking(t, `{"tools":[{"name":"bash","input_schema":{"type":"object"}}],"messages":[`+strings.Join([]string{
		user(`"hi"`), assistant(`[{"type":"compaction","content":"Before.","tool_changes":[` + addition(`{"type":"web_fetch_20260318","name":"web_fetch"}`) + `]}]`),
		system(`[{"type":"tool_removal","tool":{"type":"tool_reference","name":"bash"}},` + addition(`{"name":"bash","description":"new"}`) + `,` + addition(`{"type":"web_search_20250305","name":"web_search"}`) + `]`),
		system(`[` + strings.Replace(addition(`{"type":"mcp_toolset","mcp_server_name":"mail"}`), "tool_addition", `tool\u005faddition`, 1) + `]`),
		user(`[{"type":"tool_addition","tool":{"type":"tool_reference","name":"x"}},{"type":"text","text":"{\"definition\":1}"}]`),
	}, ",")+`]}`)
	want := []intercept.HostedTool{{Name: "web_fetch_20260318"}, {Name: "web_search_20250305"}, {Name: "mcp:mail"}}
	if d := cmp.Diff(want, r.Hosted()); d != "" {
		t.Errorf("hosted (-want +got):\n%s", d)
	}
	if tool, found := r.Tool("bash"); !found || tool.Description != "new" {
		t.Errorf("bash is %+v", tool)
	}
}

func TestInToolset(t *testing.T) {
	r := asking(t, `{"messages":[],"tools":[{"name":"left_click"},{"type":"computer_toolset_20260101","name":"computer"}]}`)
	for _, tt := range []struct {
		toolset, tool string
		want          bool
	}{
		{"computer", "screenshot", true},
		{"computer", "left_click", false},
		{"comp", "screenshot", false},
		{"", "screenshot", false},
		{"memory", "screenshot", false},
	} {
		if got := r.inToolset(tt.toolset, tt.tool); got != tt.want {
			t.Errorf("%s of %s: %t", tt.tool, tt.toolset, got)
		}
	}
}
