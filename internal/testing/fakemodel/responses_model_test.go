package fakemodel_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// caller is a client of a model on a server.
type caller struct {
	*testing.T
	url string
}

func startModel(t *testing.T, rules ...fakemodel.Rule) caller {
	model := &fakemodel.Model{Rules: rules, Otherwise: fakemodel.Answer{Text: "Hm."}}
	return caller{t, start(t, model.Reply).URL()}
}

// send sends a request with the headers of both providers.
func (c caller) send(method, path, body string) (int, string) {
	c.Helper()
	request, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	request.Header.Set("anthropic-version", "2023-06-01")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		c.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// ok sends a request that must be answered with 200.
func (c caller) ok(method, path, body string) gjson.Result {
	c.Helper()
	status, answer := c.send(method, path, body)
	if status != 200 {
		c.Fatalf("%s %s was answered %d %s", method, path, status, answer)
	}
	return gjson.Parse(answer)
}

// refused sends a request that must be refused with a message that contains want.
func (c caller) refused(status int, method, path, body, want string) {
	c.Helper()
	if got, answer := c.send(method, path, body); got != status || !strings.Contains(gjson.Get(answer, "error.message").String()+" "+gjson.Get(answer, "error.details.error_code").String(), want) {
		c.Errorf("%s %s %s was answered %d %s, want %d with %q", method, path, body, got, answer, status, want)
	}
}

// respond sends an input to Responses. more are further fields of the request.
func (c caller) respond(input string, more ...string) gjson.Result {
	c.Helper()
	return c.ok("POST", "/responses", responsesBody(input, more...))
}

func responsesBody(input string, more ...string) string {
	return fmt.Sprintf(`{"model":"m","input":[%s]%s}`, input, strings.Join(append([]string{""}, more...), ","))
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func output(call, text string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, call, text)
}

// join is items one after the other, without those of the given types.
func join(items []gjson.Result, without ...string) string {
	var kept []string
	for _, item := range items {
		if !strings.Contains(strings.Join(without, " "), item.Get("type").String()) {
			kept = append(kept, item.Raw)
		}
	}
	return strings.Join(kept, ",")
}

var twoCalls = fakemodel.Rule{When: fakemodel.UserSays("work"), Say: fakemodel.Say(fakemodel.Answer{
	Reasoning: "hm", Calls: []fakemodel.Call{{ID: "call_1", Name: "a", Arguments: "{}"}, {ID: "call_2", Name: "b", Arguments: "{}"}},
})}

var told = fakemodel.Rule{When: fakemodel.ToolAnswers("b", ""), Say: func(c fakemodel.Conversation) fakemodel.Answer {
	return fakemodel.Answer{Text: fmt.Sprint(c.User(), ": ", c.Results())}
}}

func said(response gjson.Result) string {
	return response.Get(`output.#(type=="message").content.0.text`).String()
}

func TestResponsesGoOnFromWhatIsStored(t *testing.T) {
	c := startModel(t, twoCalls, told)
	both := output("call_1", "x") + "," + output("call_2", "y")
	first := c.respond(user("work"), `"instructions":"be brief"`)
	more := `"previous_response_id":"` + first.Get("id").String() + `"`
	if got := said(c.respond(both, more)); got != "work: [{call_1 a x} {call_2 b y}]" {
		t.Errorf("told of the results the model says %q", got)
	}
	c.refused(400, "POST", "/responses", responsesBody(output("call_1", "x"), more), "No tool output found for function call call_2.")
	c.refused(400, "POST", "/responses", responsesBody(user("no"), more), "No tool output found for function call call_1.")
	c.refused(400, "POST", "/responses", responsesBody(both+","+output("call_3", "z"), more), "No tool call found for function call output with call_id call_3.")
	c.refused(400, "POST", "/responses", responsesBody(both, `"previous_response_id":"resp_x"`), "Previous response with id 'resp_x' not found.")
	unstored := c.respond(user("work"), `"store":false`).Get("id").String()
	c.refused(400, "POST", "/responses", responsesBody(both, `"previous_response_id":"`+unstored+`"`), "Previous response with id '"+unstored+"' not found.")
	c.refused(400, "POST", "/responses", responsesBody(both, more, `"conversation":"conv_1"`), "Mutually exclusive")

	items := c.ok("GET", "/responses/"+first.Get("id").String()+"/input_items", "")
	if items.Get("data.0.content").String() != "work" || items.Get("object").String() != "list" {
		t.Errorf("input items are %s", items)
	}
	c.ok("DELETE", "/responses/"+first.Get("id").String(), "")
	c.refused(400, "POST", "/responses", responsesBody(both, more), "not found")
	c.refused(404, "GET", "/responses/"+first.Get("id").String(), "", "not found")
}

func TestResponsesGoOnInAConversation(t *testing.T) {
	c := startModel(t, twoCalls, told)
	id := c.ok("POST", "/conversations", `{}`).Get("id").String()
	more := `"conversation":{"id":"` + id + `"}`
	if got := c.respond(user("work"), more).Get("conversation.id").String(); got != id {
		t.Errorf("the response is of conversation %q, want %q", got, id)
	}
	c.refused(400, "POST", "/responses", responsesBody(user("hi"), more), "No tool output found for function call call_1.")
	if got := said(c.respond(output("call_2", "y")+","+output("call_1", "x"), more)); got != "work: [{call_2 b y} {call_1 a x}]" {
		t.Errorf("told of the results the model says %q", got)
	}
	if n := len(c.ok("GET", "/conversations/"+id+"/items", "").Get("data").Array()); n != 7 {
		t.Errorf("the conversation has %d items", n)
	}
	c.refused(404, "POST", "/responses", responsesBody(user("hi"), `"conversation":"conv_x"`), "Conversation with id 'conv_x' not found.")
}

func TestResponsesJudgeReplayedItems(t *testing.T) {
	c := startModel(t, twoCalls, told)
	items := c.respond(user("work")).Get("output").Array()
	both := output("call_1", "x") + "," + output("call_2", "y")
	replay := func(output string) string { return responsesBody(user("work") + "," + output) }
	f := func(body, want string) {
		t.Helper()
		if want == "" {
			c.ok("POST", "/responses", body)
			return
		}
		c.refused(400, "POST", "/responses", body, want)
	}
	f(replay(join(items)+","+both), "")
	f(replay(items[0].Raw+","+items[1].Raw+","+output("call_1", "x")+","+items[2].Raw+","+output("call_2", "y")), "")
	f(replay(join(items, "reasoning")+","+both), "of type 'function_call' was provided without its required 'reasoning' item")
	f(replay(items[0].Raw), "of type 'reasoning' was provided without its required following item.")
	f(replay(items[0].Raw+","+user("hm")), "without its required following item.")
	f(replay(join(items)+","+items[1].Raw+","+both), "Duplicate item found with id fc_")
	f(replay(join(items)), "No tool output found for function call call_1.")
	f(replay(both+","+join(items)), "No tool call found for function call output with call_id call_1.")
	f(replay(strings.ReplaceAll(join(items[1:]), `"id"`, `"was"`)+","+both), "") // an item without an id is unknown
	f(replay(`{"type":"item_reference","id":"`+items[0].Get("id").String()+`"},`+join(items[1:])+","+both), "")
	f(replay(`{"type":"reasoning","id":"rs_x","summary":[]},`+join(items[1:])+","+both), "Item with id 'rs_x' not found.")
	f(replay(`{"type":"configuration_update","reasoning":{"effort":"high"}},{"type":"compaction_trigger"},`+join(items)+`,`+both), "")
	f(replay(join(items)+`,`+both+`,{"type":"configuration_update","reasoning":{"effort":"high"}}`), "")
	f(replay(`{"type":"multi_agent_call","id":"mac_1","call_id":"s","action":"spawn_agent","arguments":"{}"},{"type":"multi_agent_call_output","id":"mao_1","call_id":"s","output":[]}`), "")
	f(replay(`{"type":"nonsense"}`), "Invalid value: 'nonsense'.")
	f(`{"model":"m","input":3}`, "Invalid type for 'input'")
	f(`{"input":"x"}`, "Missing required parameter: 'model'.")
	f(`{"model"`, "could not parse")

	unstored := c.respond(user("work"), `"store":false`).Get("output").Array()
	f(replay(join(unstored)+","+both), "Items are not persisted when `store` is set to false.")
	sealed := c.respond(user("work"), `"store":false`, `"include":["reasoning.encrypted_content"]`).Get("output").Array()
	f(replay(join(sealed)+","+both), "")
	f(replay(strings.Replace(join(sealed), "gAAAAA", "gBBBBB", 1)+","+both), "could not be verified")
}

// What other tools than functions are called with reaches the rules under the
// names that heldcall asks people about.
func TestResponsesCallsOfEveryType(t *testing.T) {
	f := func(item, result, want string) {
		t.Helper()
		fits := func(c fakemodel.Conversation) bool { return len(c.Results()) > 0 }
		c := startModel(t,
			fakemodel.Rule{When: fakemodel.UserSays("work"), Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{{Item: item}}})},
			fakemodel.Rule{When: fits, Say: func(c fakemodel.Conversation) fakemodel.Answer {
				return fakemodel.Answer{Text: fmt.Sprint(c.Messages[1].Calls[0].Name, c.Messages[1].Calls[0].Arguments, " ", c.Results()[0].Content)}
			}})
		first := c.respond(user("work"))
		call := first.Get("output.0")
		id := call.Get("call_id").String()
		if !call.Get("call_id").Exists() {
			id = call.Get("id").String()
		}
		if got := said(c.respond(fmt.Sprintf(result, id), `"previous_response_id":"`+first.Get("id").String()+`"`)); got != want {
			t.Errorf("%s: the model saw %q, want %q", item, got, want)
		}
	}
	f(`{"type":"custom_tool_call","name":"sql","input":"SELECT"}`, `{"type":"custom_tool_call_output","call_id":%q,"output":"1"}`, `sqlSELECT 1`)
	f(`{"type":"local_shell_call","action":{"command":["ls"]}}`, `{"type":"local_shell_call_output","id":%q,"output":"1"}`, `local_shell{"command":["ls"]} 1`)
	f(`{"type":"local_shell_call","action":{"command":["ls"]}}`, `{"type":"function_call_output","call_id":%q,"output":"1"}`, `local_shell{"command":["ls"]} 1`)
	f(`{"type":"shell_call","action":{"commands":["ls"]}}`, `{"type":"shell_call_output","call_id":%q,"output":[{"stdout":"1","stderr":"2"}]}`, `shell{"commands":["ls"]} 12`)
	f(`{"type":"apply_patch_call","operation":{"type":"delete_file"}}`, `{"type":"apply_patch_call_output","call_id":%q,"status":"failed","output":"no"}`, `apply_patch{"type":"delete_file"} failed no`)
	f(`{"type":"computer_call","action":{"type":"click"}}`, `{"type":"computer_call_output","call_id":%q,"output":{"type":"computer_screenshot"}}`, `computer{"type":"click"} {"type":"computer_screenshot"}`)
	f(`{"type":"tool_search_call","execution":"client","arguments":{"q":1}}`, `{"type":"tool_search_output","call_id":%q,"tools":[]}`, `tool_search{"q":1} []`)
	f(`{"type":"mcp_approval_request","server_label":"s","name":"n","arguments":"{}"}`, `{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}`, `mcp__s__n{} approved`)
	f(`{"type":"mcp_approval_request","server_label":"s","name":"n","arguments":"{}"}`, `{"type":"mcp_approval_response","approval_request_id":%q,"approve":false,"reason":"why"}`, `mcp__s__n{} denied why`)

	f(`{"type":"custom_tool_call","name":"exec","input":"x"}`, `{"type":"additional_tools","tools":[]},{"type":"custom_tool_call_output","call_id":%[1]q,"output":"1"},`+
		`{"type":"custom_tool_call_output","call_id":%[1]q,"output":"2"}`, `execx 1`)

	// What the provider runs itself needs no answer.
	c := startModel(t, fakemodel.Rule{When: fakemodel.UserSays("work"), Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{
		{Item: `{"type":"shell_call","call_id":"call_h","environment":{"type":"container_auto"},"action":{"commands":["ls"]}}`},
		{Item: `{"type":"shell_call_output","call_id":"call_h","output":[]}`},
		{Item: `{"type":"web_search_call"}`},
		{Text: "found"},
	}})})
	c.respond(user("more"), `"previous_response_id":"`+c.respond(user("work")).Get("id").String()+`"`)
}

func TestResponsesInTheBackground(t *testing.T) {
	c := startModel(t, twoCalls)
	queued := c.respond(user("work"), `"background":true`)
	path := "/responses/" + queued.Get("id").String()
	var got []string
	for _, r := range []gjson.Result{queued, c.ok("GET", path, ""), c.ok("GET", path, ""), c.ok("GET", path, "")} {
		got = append(got, fmt.Sprint(r.Get("status"), len(r.Get("output").Array())))
	}
	if want := "queued 0 in_progress 0 completed 3 completed 3"; strings.Join(got, " ") != want {
		t.Errorf("the looks were %q, want %s", got, want)
	}
	_, all := c.send("GET", path+"?stream=true", "")
	_, rest := c.send("GET", path+"?stream=true&starting_after=3", "")
	if !strings.HasPrefix(all, "event: response.created\n") || !strings.Contains(all, "event: response.queued\n") || !strings.HasSuffix(all, rest) ||
		!strings.Contains(rest[:strings.Index(rest, "\n\n")], `"sequence_number":4`) {
		t.Errorf("from event 3 on the stream is %s", rest)
	}

	c.respond(user("work"), `"background":true`) // begins again
	if got := c.ok("POST", path+"/cancel", "").Get("status").String(); got != "cancelled" {
		t.Errorf("the cancelled response is %s", got)
	}
	c.refused(400, "POST", "/responses/"+c.respond(user("hi")).Get("id").String()+"/cancel", "", "Cannot cancel")
	c.refused(400, "POST", "/responses", responsesBody(user("x"), `"background":true`, `"store":false`), "Background mode requires store")
}

func TestResponsesAreAnsweredAlike(t *testing.T) {
	c := startModel(t, twoCalls)
	for _, body := range []string{responsesBody(user("work")), responsesBody(user("work"), `"stream":true`), `{"model":"m","input":"work"}`} {
		_, first := c.send("POST", "/responses", body)
		if _, second := c.send("POST", "/responses", body); first != second {
			t.Errorf("%s was answered differently", body)
		}
	}
	if n := c.ok("POST", "/responses/input_tokens", responsesBody(user("hi"))).Get("input_tokens").Int(); n == 0 {
		t.Error("the input has no tokens")
	}
}
