package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/tidwall/gjson"
)

// offering are the ways to offer the model tools.
var offering = map[string]string{
	"beside the input":       `{"model":"m","input":[{"role":"user","content":"hi"}],"tools":[%s]}`,
	"in the input":           `{"model":"m","input":[{"type":"additional_tools","role":"developer","tools":[%s]},{"role":"user","content":"hi"}]}`,
	"in an odd input":        `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"additional\u005ftools","tools":[%s]}]}`,
	"in a search":            `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"tool_search_output","call_id":"t1","execution":"client","status":"completed","tools":[%s]}]}`,
	"in an item of any type": `{"model":"m","input":[{"type":"brand_new","to\u006fls":[%s]}]}`,
	"in two namespaces":      `{"model":"m","input":[{"type":"tool_search_output","tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"o","tools":[%s]}]}]}]}`,
	"in a namespace":         `{"model":"m","input":"hi","tools":[{"type":"function","name":"x"},{"type":"namespace","name":"n","tools":[%s]}]}`,
}

func TestHostedToolsAreFoundWhereverTheyAreOffered(t *testing.T) {
	const tools = `{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"local_shell"},{"type":"apply_patch"},{"type":"computer_use_preview"},{"type":"shell"},{"type":"tool_search","execution":"client"},` +
		`{"type":"shell","environment":{"type":"container_auto"}},{"type":"tool_search"},{"type":"web_search","filters":{}},{"type":"mcp","server_label":"a","require_approval":"never"},` +
		`{"type":"mcp","server_label":"b","require_approval":{"always":{"tool_names":["x"]}}},{"type":"mcp","server_label":"c","require_approval":{"never":{"tool_names":["x"]}}},{"type":"mcp","server_label":"d"},{"type":"brand_new"}`
	want := "[{shell false} {tool_search false} {web_search false} {mcp:a false} {mcp:b true} {mcp:c false} {mcp:d true} {brand_new false}]"
	for name, form := range offering {
		r, err := history.AcceptRequest(asked(fmt.Sprintf(form, tools)))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Hosted()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		before := string(r.Envelope().Body)
		if n := r.RequireApproval(); n != 2 {
			t.Errorf("%s: %d changed", name, n)
		}
		after := strings.Replace(before, `"server_label":"a","require_approval":"never"`, `"server_label":"a","require_approval":"always"`, 1)
		after = strings.Replace(after, `"server_label":"c","require_approval":{"never":{"tool_names":["x"]}}`, `"server_label":"c","require_approval":"always"`, 1)
		if got := string(r.Envelope().Body); got != after {
			t.Errorf("%s: it became %s", name, got)
		}
		if n := r.RequireApproval(); n != 0 {
			t.Errorf("%s: %d changed once more", name, n)
		}
	}
	for _, prompt := range []string{`{"id":"pmpt_1"}`, `"pmpt_1"`} {
		r, err := history.AcceptRequest(asked(`{"model":"m","prompt":` + prompt + `}`))
		if err != nil || fmt.Sprint(r.Hosted()) != "[{prompt false}]" {
			t.Errorf("a prompt that the provider keeps: %v, %v", r.Hosted(), err)
		}
	}
}

// TestHostedToolsElsewhere looks at what other providers than OpenAI take.
func TestHostedToolsElsewhere(t *testing.T) {
	for fields, want := range map[string]string{
		`"prompt":null,"plugins":[],"search_parameters":null`:                      "[]",
		`"tools":[{"type":["mcp"]},{"type":null,"name":"f"}]`:                      `[{["mcp"] false}]`,
		`"plugins":[{"id":"web"}],"search_parameters":{},"tools":[{"type":"mcp"}]`: "[{search_parameters false} {plugin:web false} {mcp: true}]",
	} {
		r, err := history.AcceptRequest(asked(`{"model":"m","input":"hi",` + fields + `}`))
		if err != nil || fmt.Sprint(r.Hosted()) != want {
			t.Errorf("%s: %v, %v, want %s", fields, r.Hosted(), err, want)
		}
	}
}

// TestNamespacesBeyondReading: what nobody looks into may be anything, and cannot
// be made to ask.
func TestNamespacesBeyondReading(t *testing.T) {
	const free = `{"type":"mcp","server_label":"a","require_approval":"never"}`
	for depth, want := range map[int]string{history.MaxNamespaces: "[{mcp:a false}]", history.MaxNamespaces + 1: "[{namespace false} {mcp: false}]", 4000: "[{namespace false} {mcp: false}]"} {
		tools := strings.Repeat(`{"type":"namespace","name":"n","tools":[`, depth) + free + strings.Repeat("]}", depth)
		r, err := history.AcceptRequest(asked(`{"model":"m","input":"hi","tools":[` + tools + `]}`))
		if err != nil || fmt.Sprint(r.Hosted()) != want {
			t.Errorf("%d: %v, %v, want %s", depth, r.Hosted(), err, want)
		}
		r, err = history.AcceptRequest(asked(`{"model":"m","input":"hi","tools":[` + free + "," + tools + `]}`))
		if n := r.RequireApproval(); err != nil || (n == 0) != (depth > history.MaxNamespaces) {
			t.Errorf("%d: %d made to ask, %v", depth, n, err)
		}
	}
}

func TestTool(t *testing.T) {
	const tools = `{"type":"function","name":"run","description":"runs","parameters":{"type":"object"}},{"type":"custom","name":"sql","description":"asks"},{"type":"shell","description":"sh"}`
	for name, form := range offering {
		r, err := history.AcceptRequest(asked(fmt.Sprintf(form, tools)))
		if err != nil {
			t.Fatal(err)
		}
		prefix := ""
		if name == "in a namespace" {
			prefix = "n."
		}
		if name == "in two namespaces" {
			prefix = "n.o."
		}
		if tool, ok := r.Tool(prefix + "run"); !ok || tool.Description != "runs" || string(tool.Parameters) != `{"type":"object"}` || tool.FreeText {
			t.Errorf("%s: run is %+v", name, tool)
		}
		if tool, ok := r.Tool(prefix + "sql"); !ok || !tool.FreeText || tool.Parameters != nil {
			t.Errorf("%s: sql is %+v", name, tool)
		}
		if tool, ok := r.Tool("shell"); !ok || tool.Description != "sh" {
			t.Errorf("%s: shell is %+v", name, tool)
		}
		for _, none := range []string{"", "other", "m.run", "n.", "local_shell"} {
			if tool, ok := r.Tool(none); ok {
				t.Errorf("%s: %q is %+v", name, none, tool)
			}
		}
	}
}

// TestNamespaces looks at calls that name a namespace: Codex offers its own in an
// item of the input, and takes its calls with the namespace or without.
func TestNamespaces(t *testing.T) {
	call := strings.Replace(custom, `"name":"sql"`, `"name":"exec","namespace":"functions"`, 1)
	for _, offered := range []bool{true, false} {
		tools := ""
		if offered {
			tools = `{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}`
		}
		p := newPlayer(t, asked(fmt.Sprintf(offering["in the input"], tools)), 99, intercept.Limits{})
		if err := p.Feed(stream("resp_1", call)); err != nil {
			t.Fatal(err)
		}
		c := p.Answer.Calls()[0]
		if want := map[bool]string{true: "functions.exec", false: "exec"}[offered]; c.Name != want || (len(c.Ambiguous) == 0) != offered {
			t.Errorf("offered %t: %+v", offered, c)
		}
	}
}

// TestNamesWithoutNamespace looks at calls of what only a namespace offers, under
// names that some clients find it by.
func TestNamesWithoutNamespace(t *testing.T) {
	const inside = `{"type":"namespace","name":"fs","tools":[{"type":"function","name":"delete"}]}`
	for _, tt := range []struct {
		tools, name, namespace string
		judged                 string
		doubt                  bool
	}{
		{inside, "delete", "", "delete", true},
		{inside, "fs__delete", "", "fs__delete", true},
		{inside, "fsdelete", "", "fsdelete", true},
		{inside, "fs.delete", "", "fs.delete", false}, // it is judged under that name
		{inside, "delete", "fs", "fs.delete", false},
		{inside, "delete", "other", "delete", true},
		{inside, "fs_undelete", "", "fs_undelete", false},
		{inside, "bash", "", "bash", false},
		{inside + `,{"type":"function","name":"delete"}`, "delete", "", "delete", false},
		{inside + `,{"type":"custom","name":"fs__delete"}`, "fs__delete", "", "fs__delete", false},
		{`{"type":"namespace","name":"a","tools":[` + inside + `]}`, "delete", "a.fs", "a.fs.delete", false},
		{`{"type":"namespace","name":"a","tools":[` + inside + `]}`, "delete", "fs", "delete", true},
	} {
		call := strings.Replace(function("a", tt.name, "{}"), `"type":`, `"namespace":"`+tt.namespace+`","type":`, 1)
		for _, answer := range []string{stream("resp_1", call), whole("resp_1", call)} {
			p := newPlayer(t, asked(fmt.Sprintf(offering["beside the input"], tt.tools)), 99, intercept.Limits{})
			if err := p.Feed(answer); err != nil {
				t.Fatal(err)
			}
			if c := p.Answer.Calls()[0]; c.Name != tt.judged || (len(c.Ambiguous) > 0) != tt.doubt {
				t.Errorf("%+v: %+v", tt, c)
			}
		}
	}
}

// TestNamespaceThatComesLate: the first of a call to name its namespace is its end.
func TestNamespaceThatComesLate(t *testing.T) {
	const tools = `{"type":"function","name":"delete"},{"type":"namespace","name":"fs","tools":[{"type":"function","name":"delete"}]}`
	for _, namespace := range []string{"fs", "other"} {
		for _, name := range []string{"delete", ""} {
			call := function("a", "delete", "{}")
			late := strings.ReplaceAll(stream("resp_1", strings.Replace(call, `"type":`, `"namespace":"`+namespace+`","type":`, 1)), "\r", "")
			at := strings.Index(late, "response.output_item.added")
			end := at + strings.Index(late[at:], "\n\n")
			began := strings.Replace(strings.Replace(late[at:end], `"namespace":"`+namespace+`",`, "", 1), `"name":"delete"`, `"name":"`+name+`"`, 1)
			p := newPlayer(t, asked(fmt.Sprintf(offering["beside the input"], tools)), 99, intercept.Limits{})
			if err := p.Feed(late[:at] + began + late[end:]); err != nil {
				t.Fatal(err)
			}
			if c := p.Answer.Calls()[0]; (len(c.Ambiguous) > 0) != (name != "" || namespace == "other") {
				t.Errorf("%q, %q: %+v", namespace, name, c)
			}
		}
	}
}

// TestWhatTheProviderRunsIsNotHeld reads items of types that agents run too.
func TestWhatTheProviderRunsIsNotHeld(t *testing.T) {
	contained := strings.Replace(shell, `"action"`, `"environment":{"type":"container_reference"},"action"`, 1)
	xsearch := strings.Replace(custom, `"sql"`, `"x_keyword_search"`, 1)
	for _, tt := range []struct {
		item, tools string
		calls       int
	}{
		{contained, `{"type":"shell","environment":{"type":"container_auto"}}`, 0},
		{contained, `{"type":"shell","environment":{"type":"container_auto"}},{"type":"shell"}`, 1},
		{contained, ``, 1},
		{strings.Replace(search, "client", "server", 1), `{"type":"tool_search"}`, 0},
		{strings.Replace(search, `"client"`, "null", 1), `{"type":"tool_search"}`, 1},
		{xsearch, `{"type":"x_search"}`, 0},
		{xsearch, `{"type":"x_search"},{"type":"custom","name":"x_keyword_search"}`, 1},
		{xsearch, ``, 1},
		{web, ``, 0},
	} {
		post := asked(fmt.Sprintf(offering["beside the input"], tt.tools))
		told := strings.Replace(stream("resp_1", tt.item), `"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`, `"tools":[`+tt.tools+`]`, -1)
		for _, e := range []intercept.Envelope{post, got("resp_1", "stream=true")} {
			p := newPlayer(t, e, 99, intercept.Limits{})
			if err := p.Feed(told); err != nil {
				t.Fatal(err)
			}
			if calls := p.Answer.Calls(); len(calls) != tt.calls {
				t.Errorf("%s of %s: %d calls", e.Method, gjson.Get(tt.item, "type"), len(calls))
			}
		}
	}
}

// TestApprovalIsRequiredInPlace: all bytes stay but those of the answers to
// whether to ask.
func TestApprovalIsRequiredInPlace(t *testing.T) {
	const form = "{ \"input\" : [ {\"role\":\"user\",\"content\":\"\u00e4\"} ,\n {\"type\":\"additional_tools\",\"tools\":[ {\"type\":\"namespace\",\"name\":\"n\",\"tools\":[ 1, {\"require_approval\" : %[1]s, \"type\":\"mcp\"}]}]}],\n" +
		" \"m\u00e4\":\"\\u00e4\", \"to\\u006fls\" : [ \"x\" , {\"type\":\"m\\u0063p\",\"require_approv\\u0061l\":\t%[1]s } , {\"type\":\"mcp\"},{\"type\":\"mcp\",\"require_approval\":%[1]s}] }"
	for _, never := range []string{`"never"`, `{ "never" : {} }`, "false", "7", `[]`} {
		r, err := history.AcceptRequest(asked(fmt.Sprintf(form, never)))
		if err != nil {
			t.Fatal(err)
		}
		changed, got := r.RequireApproval(), string(r.Envelope().Body)
		if want := fmt.Sprintf(form, `"always"`); changed != 3 || got != want {
			t.Errorf("%d changed, it became %s", changed, got)
		}
	}
}

// A label that stands for several servers tells none of them, however little their
// addresses differ.
func TestServersUnderOneLabel(t *testing.T) {
	const server = `{"type":"mcp","server_label":"gh","server_url":"https://gh.example/mcp?tenant=1"}`
	for beside, want := range map[string]string{
		server: "mcp:https://gh.example/mcp",
		strings.Replace(server, "tenant=1", "tenant=2", 1):       "mcp:",
		strings.Replace(server, "gh.example", "GH.example", 1):   "mcp:",
		strings.Replace(server, "server_url", "connector_id", 1): "mcp:",
		strings.Replace(server, `"gh"`, `"other"`, 1):            "mcp:https://gh.example/mcp",
	} {
		r, err := history.AcceptRequest(asked(`{"model":"m","input":[],"tools":[` + server + "," + beside + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Offered().Server("gh"); got != want {
			t.Errorf("beside %s: %s, want %s", beside, got, want)
		}
	}
}

// An agent never sees a question about a call of a hosted MCP server, so it has none
// to approve. What heldcall itself puts back into a history is not the agent's.
func TestAgentApprovesNoCallOfAServer(t *testing.T) {
	const ask = `{"type":"mcp_approval_request","id":"q1","server_label":"gh","name":"delete","arguments":"{}"}`
	for answer, want := range map[string]string{
		`{"type":"mcp_approval_response","approval_request_id":"q1","approve":true}`:       "[{mcp:gh false} {mcp:gh true}]",
		`{"type":"mcp_approval_response","approval_request_id":"q2","approve":true}`:       "[{mcp: false} {mcp:gh true}]",
		`{"type":"mcp_approval\u005fresponse","approval_request_id":"q1","approve":"yes"}`: "[{mcp:gh false} {mcp:gh true}]",
		`{"type":"mcp_approval_response","approval_request_id":"q1","approve":false}`:      "[{mcp:gh true}]",
	} {
		r, err := history.AcceptRequest(asked(`{"model":"m","input":[{"role":"user","content":"hi"},` + ask + "," + answer + `],"tools":[{"type":"mcp","server_label":"gh"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Hosted()); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
		if strings.Contains(want, "false}") && r.RequireApproval() != 0 {
			t.Errorf("%s: it is said that the call needs approval", answer)
		}
	}
}
