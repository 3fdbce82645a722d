package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// A continuation that is refused at its first byte must not pass that block.
func TestContinuationInAnotherForm(t *testing.T) {
	for _, second := range []string{whole(strings.Replace(aCall, "bash", "secret", 1), "tool_use"), "<html>secret"} {
		p := play(t, bodies(listed, second), nil, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err == nil || strings.Contains(string(p.Out()), "secret") {
			t.Errorf("error %v, agent got %s", p.Err, p.Out())
		}
	}
}

// What the model thought comes back byte for byte and in its place, escapes and
// all, and what the provider ran with it.
func TestThinkingInTheContinuation(t *testing.T) {
	const (
		thinking = `{"type":"thinking","thinking":"It\u2019s \"so\"\/ ü ","signature":"EqQB+/=="}`
		secret   = `{"type":"redacted_thinking","data":"EmwK\/"}`
		between  = `{"type":"thinking","thinking":"","signature":"s2"}`
	)
	calls := [2]string{`{"type":"tool_use","id":"a","name":"x","input":{"c" : 1.0}}`, `{"type":"tool_use","id":"b","name":"y","input":{}}`}
	searched := strings.Replace(hosted, `"input":{}`, `"input":{"query":"x"}`, 1)
	streamed := started("msg_1") + opened(0, `{"type":"thinking","thinking":"","signature":""}`) +
		added(0, `{"type":"thinking_delta","thinking":"It\u2019s \"so"}`) + added(0, `{"type":"thinking_delta","thinking":"\"\/ ü "}`) +
		added(0, `{"type":"signature_delta","signature":"EqQB+/=="}`) + closed(0) + complete(1, secret) +
		opened(2, hosted) + more(2, `{"query":`) + more(2, `"x"}`) + closed(2) + complete(3, result) + use(4, "a", "x", `{"c" :`, ` 1.0}`) +
		opened(5, `{"type":"thinking","thinking":"","signature":""}`) + added(5, `{"type":"signature_delta","signature":"s2"}`) + closed(5) + use(6, "b", "y") + ended("tool_use")
	content := strings.Join([]string{thinking, secret, searched, result, calls[0], between, calls[1]}, ",")
	for _, body := range []string{streamed, whole(content, "tool_use")} {
		p := play(t, bodies(body, finalWord), nil, intercept.Limits{MaxContinuations: 1}, intercepttest.DenyAll)
		equal(t, "said", gjson.Get(p.Nexts[0], "messages.1.content").Raw, "["+content+"]")
		equal(t, "told", gjson.Get(p.Nexts[0], "messages.2").Raw, user(`[`+denialOf("a")+`,`+denialOf("b")+`]`))
	}
}

// A history that the provider compacted within the answer comes back unchanged.
func TestCompactionInTheContinuation(t *testing.T) {
	const changes = `[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"dial","input_schema":{"properties":{"callback":{}}}}}}]`
	body := started("msg_1") + opened(0, `{"type":"compaction","content":null}`) + added(0, `{"type":"compaction_delta","content":"Be"}`) + added(0, `{"type":"compaction_delta","content":"fore.","tool_changes":`+changes+`}`) + closed(0) + use(1, "a", "x") + ended("tool_use")
	p := play(t, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	equal(t, "said", gjson.Get(p.Nexts[0], "messages.1.content.0").Raw, `{"type":"compaction","content":"Before.","tool_changes":`+changes+`}`)
}

// What the provider thinks of calls, as Claude Code asks it to, passes with them and
// goes with those that the agent does not get, or not as they were.
func TestVerdictsOfTheProvider(t *testing.T) {
	verdict := func(ids ...string) string {
		for i, id := range ids {
			ids[i] = `"` + id + `":{"type":"evaluated","outcome":"flagged","explanation":"It runs ` + id + `."}`
		}
		return `"safeguard_results":[{"type":"dangerous_tool_use","status":{"type":"available","tool_uses":{` + strings.Join(ids, ",") + `}}}]`
	}
	end := func(verdicts string) string {
		return sent("message_delta", `"delta":{"stop_reason":"tool_use",`+verdicts+`},"usage":{"output_tokens":7}`) + stopped
	}
	answer := func(content, verdicts string) string {
		return strings.TrimSuffix(whole(content, "tool_use"), "}") + "," + verdicts + "}"
	}
	other := strings.Replace(strings.Replace(aCall, "toolu_a", "toolu.b", 1), "bash", "read", 1)
	calls := started("msg_1") + use(0, "toolu_a", "bash", "{}") + use(1, "toolu.b", "read", "{}")
	for _, tt := range []struct {
		rule       intercepttest.Ruler
		body, want string
	}{
		{intercepttest.ReleaseAll, calls + end(verdict("toolu_a", "toolu.b")), calls + end(verdict("toolu_a", "toolu.b"))},
		{first(intercepttest.DenyAll), calls + end(verdict("toolu_a", "toolu.b")), started("msg_1") + use(0, "toolu.b", "read", "{}") + end(verdict("toolu.b"))},
		{first(intercepttest.EditAll), calls + end(verdict("toolu_a", "toolu.b")), started("msg_1") + use(0, "toolu_a", "bash", intercepttest.Edited) + use(1, "toolu.b", "read", "{}") + end(verdict("toolu.b"))},
		{first(intercepttest.DenyAll), calls + end(`"safeguard_results":[{"of":["toolu_a"]}]`), started("msg_1") + use(0, "toolu.b", "read", "{}") + sent("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}`) + stopped},
		{first(intercepttest.DenyAll), answer(aCall+","+other, verdict("toolu_a", "toolu.b")), answer(other, verdict("toolu.b"))},
		{intercepttest.ReleaseAll, answer(aCall+","+other, verdict("toolu_a", "toolu.b")), answer(aCall+","+other, verdict("toolu_a", "toolu.b"))},
	} {
		p := play(t, bodies(tt.body), nil, intercept.Limits{}, tt.rule)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		equal(t, tt.body, string(p.Out()), tt.want)
	}
	p := play(t, bodies(calls+end(verdict("toolu_a", "toolu.b")), finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if p.Err != nil || strings.Contains(string(p.Out()), "toolu") {
		t.Errorf("%v: %s", p.Err, p.Out())
	}
}

// A message must not end in thinking, nor hold a text of nothing.
func TestThinkingAtTheEnd(t *testing.T) {
	body := started("msg_1") + opened(0, `{"type":"text","text":""}`) + closed(0) + use(1, "a", "x", "{}") + thought(2, "hm", "s") + ended("tool_use")
	p := play(t, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	checkConversation(t, p.Nexts[0])
	p = play(t, bodies(listed, started("msg_2")+thought(0, "hm", "s")+ended("end_turn")), nil, intercept.Limits{}, intercepttest.DenyAll)
	if m, err := foldStrict(string(p.Out())); err != nil || m.blocks[len(m.blocks)-1].text == "" {
		t.Errorf("%v: the agent cannot send back %s", err, p.Out())
	}
}

// With an error that upstream reports the answer is over: nothing is asked of the
// model again.
func TestErrorInTheContinuation(t *testing.T) {
	fault := sent("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`)
	first := started("msg_1") + use(0, "a", "bash", "{}") + ended("tool_use")
	for _, second := range []string{fault, started("msg_2") + fault, started("msg_2") + complete(0, textBlock("Well.")) + fault, started("msg_2") + use(0, "b", "bash", "{}") + fault} {
		p := play(t, bodies(first, second), nil, intercept.Limits{MaxContinuations: 2}, intercepttest.DenyAll)
		if out := string(p.Out()); p.Err != nil || len(p.Nexts) != 1 || strings.Count(out, fault) != 1 || strings.Contains(out, "message_stop") {
			t.Errorf("then %q: error %v, %d continuations; the agent has\n%s", second, p.Err, len(p.Nexts), out)
		}
	}
}

func TestIdsInAContinuation(t *testing.T) {
	p := play(t, bodies(started("msg_1")+use(0, "0", "x")+use(1, "0", "y")+use(2, "", "z")+ended("tool_use"), finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	checkConversation(t, p.Nexts[0])
	if ids := gjson.Get(p.Nexts[0], "messages.1.content.#.id").Array(); ids[0].Str != "0" || ids[1].Str == "0" || ids[2].Str == "" || ids[1].Str == ids[2].Str {
		t.Errorf("ids %s", ids)
	}
}

// Input that is no object, as after fine-grained streaming or a cut, is wrapped as the
// provider recommends.
func TestInvalidInputInAContinuation(t *testing.T) {
	p := play(t, bodies(started("msg_1")+use(0, "a", "x", `{"c":"d`)+ended("max_tokens"), finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	checkConversation(t, p.Nexts[0])
	equal(t, "input", gjson.Get(p.Nexts[0], "messages.1.content.0.input").Raw, `{"INVALID_JSON":"{\"c\":\"d"}`)
}

// Usage is in both events: that of the start counts for fields that the end lacks, and
// that of all turns is added up.
func TestUsageIsAddedUp(t *testing.T) {
	start := strings.Replace(started("msg_1"), `{"input_tokens":10,"output_tokens":1}`, `{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}`, 1)
	end := sent("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7,"server_tool_use":{"web_search_requests":1}}`) + stopped
	p := play(t, bodies(start+one+end, start+text(0, "Fine.")+sent("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":30,"output_tokens":9}`)+stopped), nil, intercept.Limits{}, intercepttest.DenyAll)
	m, err := foldStrict(string(p.Out()))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "usage", string(m.usage), `{"input_tokens":40,"cache_read_input_tokens":10,"output_tokens":16,"server_tool_use":{"web_search_requests":1}}`)
}

// Bytes that a strict reader would join with the next event must not precede one.
func TestUnendedEvent(t *testing.T) {
	end := sent("message_delta", `"delta":{"stop_reason":"tool_use"}`)
	body := strings.TrimSuffix(started("msg_1")+use(0, "a", "x", "{}")+end+text(1, "Look."), "\n\n")
	p := play(t, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	equal(t, "released", string(p.Out()), body+"\n\n")
	p = play(t, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if m, err := foldStrict(string(p.Out())); err != nil || m.text() != "Look.Very well." {
		t.Errorf("denied: %v in %s", err, p.Out())
	}
}

func TestFailFitsTheForm(t *testing.T) {
	e := intercept.NotUnderstood("why")
	fault := "event: error\n" + data(string(errorBody(e)))
	for _, tt := range []struct{ body, want string }{
		{whole(textBlock("x"), "end_turn"), string(errorBody(e))},
		{strings.TrimSuffix(started("msg_1")+speech, "\n\n"), "\n\n" + fault},
		{strings.TrimSuffix(started("msg_1")+speech, "\n"), "\n" + fault},
		{started("msg_1") + speech, fault},
	} {
		p := newPlayer(t, request1, 7, intercept.Limits{})
		if err := p.Feed(tt.body); err != nil {
			t.Fatal(err)
		}
		equal(t, "after "+tt.body, string(p.Answer.Fail(e)), tt.want)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	for _, body := range []string{
		started("msg_1") + text(0, strings.Split(strings.Repeat("word ", 400), " ")...),
		started("msg_1") + strings.Repeat(complete(0, redacted), 400),
	} {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 1000})
		if err := p.Feed(body); err == nil {
			t.Error("no limit")
		}
	}
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	if err := p.Feed(started("msg_1") + strings.Repeat(complete(0, redacted), maxBlocks+1)); err == nil {
		t.Error("no limit of blocks")
	}
}
