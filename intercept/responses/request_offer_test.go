package responses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// post is a request with a body.
func post(body string) intercept.Envelope {
	return intercept.Envelope{Method: http.MethodPost, Path: rootPath, Body: []byte(body)}
}

func accept(t *testing.T, e intercept.Envelope) *request {
	t.Helper()
	r, err := parseRequest(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waysToOffer are the ways to offer the model tools.
var waysToOffer = map[string]string{
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
	for name, form := range waysToOffer {
		r := accept(t, post(fmt.Sprintf(form, tools)))
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
		r, err := parseRequest(post(`{"model":"m","prompt":` + prompt + `}`))
		if err != nil || fmt.Sprint(r.Hosted()) != "[{prompt false}]" {
			t.Errorf("a prompt that the provider keeps: %v, %v", r.Hosted(), err)
		}
	}
}

// TestHostedToolsElsewhere has the fields of other providers than OpenAI.
func TestHostedToolsElsewhere(t *testing.T) {
	for fields, want := range map[string]string{
		`"prompt":null,"plugins":[],"search_parameters":null`:                      "[]",
		`"tools":[{"type":["mcp"]},{"type":null,"name":"f"}]`:                      `[{["mcp"] false}]`,
		`"plugins":[{"id":"web"}],"search_parameters":{},"tools":[{"type":"mcp"}]`: "[{search_parameters false} {plugin:web false} {mcp: true}]",
	} {
		r, err := parseRequest(post(`{"model":"m","input":"hi",` + fields + `}`))
		if err != nil || fmt.Sprint(r.Hosted()) != want {
			t.Errorf("%s: %v, %v, want %s", fields, r.Hosted(), err, want)
		}
	}
}

// A namespace that is nested too deeply may contain any tool, and its tools cannot be
// made to require approval.
func TestNamespacesBeyondReading(t *testing.T) {
	const free = `{"type":"mcp","server_label":"a","require_approval":"never"}`
	for depth, want := range map[int]string{maxNamespaces: "[{mcp:a false}]", maxNamespaces + 1: "[{namespace false} {mcp: false}]", 4000: "[{namespace false} {mcp: false}]"} {
		tools := strings.Repeat(`{"type":"namespace","name":"n","tools":[`, depth) + free + strings.Repeat("]}", depth)
		r, err := parseRequest(post(`{"model":"m","input":"hi","tools":[` + tools + `]}`))
		if err != nil || fmt.Sprint(r.Hosted()) != want {
			t.Errorf("%d: %v, %v, want %s", depth, r.Hosted(), err, want)
		}
		r, err = parseRequest(post(`{"model":"m","input":"hi","tools":[` + free + "," + tools + `]}`))
		if n := r.RequireApproval(); err != nil || (n == 0) != (depth > maxNamespaces) {
			t.Errorf("%d: %d made to require approval, %v", depth, n, err)
		}
	}
}

func TestTool(t *testing.T) {
	const tools = `{"type":"function","name":"run","description":"runs","parameters":{"type":"object"}},{"type":"custom","name":"sql","description":"asks"},{"type":"shell","description":"sh"}`
	for name, form := range waysToOffer {
		r := accept(t, post(fmt.Sprintf(form, tools)))
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

// All bytes stay but those of the values of require_approval.
func TestApprovalIsRequiredInPlace(t *testing.T) {
	const form = "{ \"input\" : [ {\"role\":\"user\",\"content\":\"\u00e4\"} ,\n {\"type\":\"additional_tools\",\"tools\":[ {\"type\":\"namespace\",\"name\":\"n\",\"tools\":[ 1, {\"require_approval\" : %[1]s, \"type\":\"mcp\"}]}]}],\n" +
		" \"m\u00e4\":\"\\u00e4\", \"to\\u006fls\" : [ \"x\" , {\"type\":\"m\\u0063p\",\"require_approv\\u0061l\":\t%[1]s } , {\"type\":\"mcp\"},{\"type\":\"mcp\",\"require_approval\":%[1]s}] }"
	for _, never := range []string{`"never"`, `{ "never" : {} }`, "false", "7", `[]`} {
		r := accept(t, post(fmt.Sprintf(form, never)))
		changed, got := r.RequireApproval(), string(r.Envelope().Body)
		if want := fmt.Sprintf(form, `"always"`); changed != 3 || got != want {
			t.Errorf("%d changed, it became %s", changed, got)
		}
	}
}

// A label of several servers names none of them, however little their addresses differ.
func TestServersUnderOneLabel(t *testing.T) {
	const server = `{"type":"mcp","server_label":"gh","server_url":"https://gh.example/mcp?tenant=1"}`
	for beside, want := range map[string]string{
		server: "mcp:https://gh.example/mcp",
		strings.Replace(server, "tenant=1", "tenant=2", 1):       "mcp:",
		strings.Replace(server, "gh.example", "GH.example", 1):   "mcp:",
		strings.Replace(server, "server_url", "connector_id", 1): "mcp:",
		strings.Replace(server, `"gh"`, `"other"`, 1):            "mcp:https://gh.example/mcp",
	} {
		r := accept(t, post(`{"model":"m","input":[],"tools":[`+server+","+beside+`]}`))
		if got := r.offered().server("gh"); got != want {
			t.Errorf("beside %s: %s, want %s", beside, got, want)
		}
	}
}

// An agent never gets an approval request for a hosted MCP server, so that it has none to
// answer. The ones that heldcall adds to a history are not the agent's.
func TestAgentApprovesNoCallOfAServer(t *testing.T) {
	const ask = `{"type":"mcp_approval_request","id":"q1","server_label":"gh","name":"delete","arguments":"{}"}`
	for answer, want := range map[string]string{
		`{"type":"mcp_approval_response","approval_request_id":"q1","approve":true}`:       "[{mcp:gh false} {mcp:gh true}]",
		`{"type":"mcp_approval_response","approval_request_id":"q2","approve":true}`:       "[{mcp: false} {mcp:gh true}]",
		`{"type":"mcp_approval\u005fresponse","approval_request_id":"q1","approve":"yes"}`: "[{mcp:gh false} {mcp:gh true}]",
		`{"type":"mcp_approval_response","approval_request_id":"q1","approve":false}`:      "[{mcp:gh true}]",
	} {
		r := accept(t, post(`{"model":"m","input":[{"role":"user","content":"hi"},`+ask+","+answer+`],"tools":[{"type":"mcp","server_label":"gh"}]}`))
		if got := fmt.Sprint(r.Hosted()); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
		if strings.Contains(want, "false}") && r.RequireApproval() != 0 {
			t.Errorf("%s: the call was made to require approval", answer)
		}
	}
}

// The cost of requiring approval grows with the number of offers, and not with its square.
func TestGrowthOfAnOffer(t *testing.T) {
	for name, form := range waysToOffer {
		t.Run(name, func(t *testing.T) {
			cost.Linear(t, 60, func(n int) func() {
				servers := make([]string, n)
				for i := range servers {
					servers[i] = fmt.Sprintf(`{"type":"mcp","server_label":"%d","require_approval":"never"}`, i)
				}
				r := accept(t, post(fmt.Sprintf(form, strings.Join(servers, ","))))
				return func() {
					if changed := r.RequireApproval(); changed != n {
						t.Fatalf("%d of %d changed", changed, n)
					}
				}
			})
		})
	}
}
