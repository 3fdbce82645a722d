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

const (
	someTools   = `"tools":[{"name":"a","input_schema":{}}]`
	someThought = `"thinking":{"type":"enabled","budget_tokens":1024}`
)

func messagesBody(messages string, more ...string) string {
	return fmt.Sprintf(`{"model":"m","max_tokens":9,"messages":[%s]%s}`, messages, strings.Join(append([]string{""}, more...), ","))
}

func result(id, text string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id, text)
}

func blocks(role string, blocks ...string) string {
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))
}

func TestMessagesModelFollowsItsRules(t *testing.T) {
	c := startModel(t, twoCalls, told)
	first := c.ok("POST", "/messages", messagesBody(user("work"), someTools))
	made := first.Get("content").Array()
	if len(made) != 2 || made[0].Get("name").String() != "a" || made[0].Get("id").String() != "call_1" || first.Get("stop_reason").String() != "tool_use" {
		t.Fatalf("the first answer is %s", first)
	}
	turn := messagesBody(user("work")+","+blocks("assistant", join(made))+","+blocks("user", result("call_1", "x"), result("call_2", "y")), someTools, `"system":"be brief"`)
	if got := c.ok("POST", "/messages", turn).Get("content.0.text").String(); got != "work: [{call_1 a x} {call_2 b y}]" {
		t.Errorf("told of the results the model says %q", got)
	}
	if _, stream := c.send("POST", "/messages", messagesBody(user("hi"), `"stream":true`)); !strings.HasPrefix(stream, "event: message_start\n") || !strings.Contains(stream, "event: message_stop\n") {
		t.Errorf("a streamed answer is %s", stream)
	}
	if n := c.ok("POST", "/messages/count_tokens", `{"model":"m","messages":[`+user("hi")+`]}`).Get("input_tokens").Int(); n == 0 {
		t.Error("the message has no tokens")
	}
	if id := c.ok("GET", "/models", "").Get("data.0.type").String(); id != "model" {
		t.Errorf("a model is %q", id)
	}
}

func TestMessagesAreRefusedAsAnthropicDoes(t *testing.T) {
	c := startModel(t)
	f := func(messages, want string, more ...string) {
		t.Helper()
		if body := messagesBody(messages, append(more, someTools)...); want == "" {
			c.ok("POST", "/messages", body)
		} else {
			c.refused(400, "POST", "/messages", body, want)
		}
	}
	use := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"a","input":{}}` }
	text := `{"type":"text","text":"x"}`
	called := user("work") + "," + blocks("assistant", text, use("t1"), use("t2")) + ","
	f(called+blocks("user", result("t2", "y"), result("t1", "x"), text), "")
	f(called+blocks("user", result("t1", "x")), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2.")
	f(called+user("no"), "immediately after: t1, t2.")
	f(strings.TrimSuffix(called, ","), "immediately after: t1, t2.")
	f(called+blocks("user", result("t1", "x"))+","+blocks("user", result("t2", "y")), "immediately after: t2.")
	f(called+blocks("user", text, result("t1", "x"), result("t2", "y")), "immediately after: t1, t2.")
	f(called+blocks("user", result("t1", "x"), result("t2", "y"), result("t3", "z")), "unexpected `tool_use_id` found in `tool_result` blocks: t3.")
	f(called+blocks("user", result("t1", "x"), result("t1", "x"), result("t2", "y")), "Found multiple `tool_result` blocks with id: t1")
	f(blocks("user", result("t1", "x")), "unexpected `tool_use_id`")
	f(called+blocks("user", result("t1", "x"), result("t2", "y"))+","+blocks("assistant", use("t1"))+","+blocks("user", result("t1", "x")), "ids must be unique")
	f(user("x")+","+blocks("assistant", use("functions.a:0"))+","+blocks("user", result("functions.a:0", "x")), "should match pattern")
	f(user("x")+","+blocks("assistant", `{"type":"tool_use","id":"t","name":"a","input":"{}"}`)+","+blocks("user", result("t", "x")), "valid dictionary")
	f(user("x")+","+blocks("assistant", `{"type":"redacted_thinking","data":"d"}`)+","+user("y"), "The final block in an assistant message cannot be `thinking`.")
	f(user("x")+","+blocks("assistant", `{"type":"thinking","thinking":"hm","signature":"s"}`, text)+","+user("y"), "cannot be modified")
	f(user(""), "text content blocks must be non-empty")
	f(blocks("user"), "all messages must have non-empty content")
	f(blocks("assistant", text), `first message must use the "user" role`)
	f(`{"role":"system","content":"x"}`, `Unexpected role "system"`)
	f(`{"role":"tool","content":"x"}`, "Input should be 'user' or 'assistant'")
	f("", "at least one message is required")
	f(user("x"), "Thinking may not be enabled when tool_choice forces tool use.", someThought, `"tool_choice":{"type":"any"}`)
	f(user("x"), "A maximum of 4 blocks with cache_control may be provided. Found 5.",
		`"system":[`+strings.Repeat(`{"type":"text","text":"x","cache_control":{}},`, 4)+`{"type":"text","text":"x","cache_control":{}}]`)

	c.refused(400, "POST", "/messages", messagesBody(called+blocks("user", result("t1", "x"), result("t2", "y"))), "must define tools")
	c.refused(400, "POST", "/messages", messagesBody(user("x"), `"tool_choice":{"type":"auto"}`), "while providing tools")
	c.refused(400, "POST", "/messages", `{"model":"m","messages":[`+user("x")+`]}`, "max_tokens: Field required")
	c.refused(400, "POST", "/messages", `{"max_tokens":1,"messages":[`+user("x")+`]}`, "model: Field required")
	c.refused(400, "POST", "/messages", `[]`, "not valid JSON")
	answer, err := http.Post(c.url+"/messages", "application/json", strings.NewReader(messagesBody(user("x"))))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	id := answer.Header.Get("request-id")
	want := `{"type":"error","error":{"type":"invalid_request_error","message":"anthropic-version: header is required"},"request_id":"` + id + `"}`
	if answer.StatusCode != 400 || string(body) != want || id == "" {
		t.Errorf("without a version the answer is %d %s, want %s", answer.StatusCode, body, want)
	}
}

func TestMessagesThinkingComesBackAsItWas(t *testing.T) {
	redacted := `{"type":"redacted_thinking","data":"d"}`
	c := startModel(t, fakemodel.Rule{When: fakemodel.UserSays("work"), Say: fakemodel.Say(fakemodel.Answer{Parts: []fakemodel.Part{
		{Reasoning: "hm"}, {Item: redacted}, {Call: &fakemodel.Call{Name: "a", Arguments: "{}"}},
	}})})
	made := c.ok("POST", "/messages", messagesBody(user("work"), someTools, someThought)).Get("content").Array()
	if len(made) != 3 {
		t.Fatalf("the answer has %d blocks", len(made))
	}
	thinking, use := made[0].Raw, made[2].Raw
	f := func(want string, assistant ...string) {
		t.Helper()
		body := messagesBody(user("work")+","+blocks("assistant", assistant...)+","+
			blocks("user", result(gjson.Get(use, "id").String(), "x")), someTools, someThought)
		if want == "" {
			c.ok("POST", "/messages", body)
		} else {
			c.refused(400, "POST", "/messages", body, want)
		}
	}
	f("", thinking, redacted, use)
	f("cannot be modified", thinking, use)
	f("cannot be modified", redacted, thinking, use)
	f("cannot be modified", strings.Replace(thinking, "hm", "ha", 1), redacted, use)
	f("cannot be modified", thinking, strings.Replace(redacted, `"d"`, `"e"`, 1), use)
	f("Expected `thinking` or `redacted_thinking`, but found `tool_use`", use)
}

// A message thread: new messages only, each message continued once, with neither tools nor a system prompt.
func TestMessageThreads(t *testing.T) {
	c := startModel(t, twoCalls, told)
	first := c.ok("POST", "/messages", messagesBody(user("work"), someTools, `"system":"be brief"`, `"thread":{"type":"create"}`))
	next := func(id string, more ...string) string {
		return messagesBody(blocks("user", result("call_1", "x"), result("call_2", "y")), append(more, fmt.Sprintf(`"thread":{"type":"continue","previous_message_id":%q}`, id))...)
	}
	id := first.Get("id").String()
	if other := c.ok("POST", "/messages", messagesBody(user("work"), someTools, `"thread":{"type":"create"}`)).Get("id").String(); other == id {
		t.Error("two threads have one id")
	}
	c.refused(404, "POST", "/messages", next("msg_unknown"), "thread_not_found")
	c.refused(400, "POST", "/messages", next(id, someTools), "thread_fingerprint_mismatch")
	c.refused(400, "POST", "/messages", messagesBody(user("no"), fmt.Sprintf(`"thread":{"type":"continue","previous_message_id":%q}`, id)), "immediately after: call_1, call_2.")
	if got := c.ok("POST", "/messages", next(id)).Get("content.0.text").String(); got != "work: [{call_1 a x} {call_2 b y}]" {
		t.Errorf("told of the results the model says %q", got)
	}
	c.refused(400, "POST", "/messages", next(id), "thread_already_continued")
}
