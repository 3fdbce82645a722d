package messages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call goes out in canonical form, all else as it came.
func TestReleased(t *testing.T) {
	rendered := started("msg_1") + ping + speech + use(1, "toolu_a", "bash", `{"command":"ls"}`) + ended("tool_use")
	calls := use(1, "toolu_a", "bash", `{"command":"ls"}`) + use(2, "toolu_b", "read", `{"path":"x"}`)
	returns := strings.NewReplacer("\n", "\r\n")
	padded := strings.NewReplacer("}\n", "      }\n")
	for body, want := range map[string]string{
		listed: rendered, two: two, ": hello\n\n" + listed: ": hello\n\n" + rendered, "\xef\xbb\xbf" + listed: "\xef\xbb\xbf" + rendered,
		returns.Replace(two): returns.Replace(started("msg_1")+speech) + calls + returns.Replace(ended("tool_use")),
		padded.Replace(two):  padded.Replace(started("msg_1")+speech) + calls + padded.Replace(ended("tool_use")),
	} {
		for _, n := range blockSizes {
			p := newPlayer(t, request1, n, intercept.Limits{})
			p.Turn(body, intercepttest.ReleaseAll)
			equal(t, fmt.Sprintf("blocks of %d", n), p.Got.String(), want)
			if p.Last.Hidden != nil || p.Last.Next != nil {
				t.Error("something is remembered of an answer that did not change")
			}
		}
	}
}

func TestNothingOfAHeldCallPasses(t *testing.T) {
	for _, n := range blockSizes {
		p := newPlayer(t, request1, n, intercept.Limits{})
		if err := p.Feed(listed); err != nil {
			t.Fatal(err)
		}
		equal(t, "before the ruling", p.Got.String(), started("msg_1")+ping+speech)
		want := []intercept.Call{{ID: "toolu_a", Name: "bash", Arguments: `{"command":"ls"}`}}
		if d := cmp.Diff(want, p.Answer.Calls()); d != "" {
			t.Fatalf("calls (-want +got):\n%s", d)
		}
		if !p.Answer.Complete() || !p.Answer.Holding() || !p.Answer.Streamed() {
			t.Error("the answer is not streamed, complete and holding")
		}
	}
}

func TestDeniedIsContinued(t *testing.T) {
	for _, n := range blockSizes {
		p := newPlayer(t, request1, n, intercept.Limits{})
		p.Turn(listed, intercepttest.DenyAll)
		if p.Last.Next == nil {
			t.Fatal("no continuation")
		}
		hidden := `{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command":"ls"}}]},` +
			`{"role":"user","content":[` + denialOf("toolu_a") + `]}`
		equal(t, "continuation", string(p.Last.Next.Body), strings.Replace(strings.Replace(request1, `"any"`, `"auto"`, 1), `"hi"}`, `"hi"},`+hidden, 1))
		p.Turn(started("msg_2")+ping+text(0, "Very well.")+ended("end_turn"), intercepttest.ReleaseAll)
		end := sent("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":20,"output_tokens":14}`) + stopped
		equal(t, "agent", p.Got.String(), started("msg_1")+ping+speech+ping+text(1, "Very well.")+end)
		if len(p.Last.Hidden) != 1 {
			t.Fatal("nothing is remembered")
		}
		for _, echo := range []string{
			`[{"type":"text","text":"Let me look."},{"type":"text","text":"Very well.","cache_control":{"type":"ephemeral"}}]`,
			`[ {"text":"Let me look.","type":"text"}, {"text":"Very well.","type":"text"} ]`,
			`[{"type":"text","text":"Let me look.\nVery well."}]`,
			`"Let me look.Very well."`, `"Let me look.\n\nVery well."`,
		} {
			r := asking(t, `{"messages":[{"role":"user","content":"hi"}, {"role":"assistant","content":`+echo+`}, {"role":"user","content":"next"}],"model":"m"}`)
			if n := r.Splice(p.Last.Hidden); n != 1 {
				t.Fatalf("%s: %d spliced", echo, n)
			}
			last := `{"type":"text","text":"Very well."}`
			if parts := gjson.Parse(echo); parts.IsArray() && parts.Get("#").Int() == 2 {
				last = parts.Get("1").Raw
			}
			equal(t, echo, string(r.Envelope().Body), `{"messages":[{"role":"user","content":"hi"}, `+hidden+`,{"role":"assistant","content":[`+last+`]}, {"role":"user","content":"next"}],"model":"m"}`)
		}
	}
}

func TestMixedIsRenumbered(t *testing.T) {
	p := newPlayer(t, request1, 50, intercept.Limits{})
	p.Turn(two, first(intercepttest.DenyAll))
	equal(t, "agent", p.Got.String(), started("msg_1")+speech+use(1, "toolu_b", "read", `{"path":"x"}`)+ended("tool_use"))
	for _, tt := range []struct{ content, want string }{
		{
			`[{"type":"tool_result","tool_use_id":"toolu_b","content":"data"},{"type":"text","text":"go on"}]`,
			`[` + denialOf("toolu_a") + `,{"type":"tool_result","tool_use_id":"toolu_b","content":"data"},{"type":"text","text":"go on"}]`,
		},
		{`"stop"`, `[` + denialOf("toolu_a") + `,{"type":"text","text":"stop"}]`},
		{`[]`, `[` + denialOf("toolu_a") + `]`},
	} {
		r := asking(t, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_b","name":"read","input":{"path":"x"}}]},{"role":"user","content":`+tt.content+`}]}`)
		if n := r.Splice(p.Last.Hidden); n != 1 {
			t.Fatalf("%d spliced", n)
		}
		equal(t, tt.content, string(r.Envelope().Body), `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command":"ls"}},{"type":"tool_use","id":"toolu_b","name":"read","input":{"path":"x"}}]},{"role":"user","content":`+tt.want+`}]}`)
	}
}

func TestEditedReplacesTheArguments(t *testing.T) {
	p := newPlayer(t, request1, 50, intercept.Limits{})
	p.Turn(listed, func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Edit, Arguments: `{"command":"pwd"}`, ModelMessage: notice.ArgumentsChanged("bash", "")}
	})
	equal(t, "agent", p.Got.String(), started("msg_1")+ping+speech+use(1, "toolu_a", "bash", `{"command":"pwd"}`)+ended("tool_use"))
	note := strictjson.Quote(notice.ArgumentsChanged("bash", ""))
	for _, tt := range []struct{ content, want string }{
		{`"content":"/tmp"`, `"content":` + note[:len(note)-1] + `\n/tmp"`},
		{`"content":[{"type":"text","text":"/tmp"}],"is_error":false`, `"content":[{"type":"text","text":` + note + `},{"type":"text","text":"/tmp"}],"is_error":false`},
	} {
		history := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command":"pwd"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a",%s}]}]}`
		r := asking(t, fmt.Sprintf(history, tt.content))
		r.Splice(p.Last.Hidden)
		equal(t, "spliced", string(r.Envelope().Body), fmt.Sprintf(history, tt.want))
	}
}

// The arguments of a call, or the end of the message, cast doubt on it.
func TestDoubtfulCalls(t *testing.T) {
	lead := started("msg_1") + begun(0, "a", "bash") + more(0, `{"a":1,`)
	for _, tt := range []struct{ body, arguments, end, doubt string }{
		{more(0, `"a":2}`) + closed(0), `{"a":1,"a":2}`, ended("tool_use"), "valid JSON"},
		{more(0, `"b":2`) + closed(0), `{"a":1,"b":2`, ended("tool_use"), "valid JSON"},
		{more(0, `"b":2`) + closed(0), `{"a":1,"b":2`, text(1, "so") + ended("max_tokens"), "valid JSON"},
		{more(0, `"b":2}`) + closed(0), `{"a":1,"b":2}`, ended("max_tokens"), intercept.AmbiguousCut},
		{more(0, `"b":2}`) + closed(0), `{"a":1,"b":2}`, ping + ended("refusal") + done, intercept.AmbiguousRefused},
	} {
		for _, n := range blockSizes {
			p := newPlayer(t, request1, n, intercept.Limits{})
			if err := p.Feed(lead + tt.body + tt.end); err != nil {
				t.Fatal(err)
			}
			equal(t, "before the ruling", p.Got.String(), started("msg_1"))
			calls := p.Answer.Calls()
			if len(calls) != 1 || !strings.Contains(strings.Join(calls[0].Ambiguous, " "), tt.doubt) || len(calls[0].Flags) > 0 {
				t.Fatalf("calls: %+v", calls)
			}
			p = newPlayer(t, request1, n, intercept.Limits{})
			p.Turn(lead+tt.body+tt.end, intercepttest.ReleaseAll)
			equal(t, "approved", p.Got.String(), started("msg_1")+use(0, "a", "bash", tt.arguments)+tt.end)
		}
	}
}

// Everything waits after a held call, because blocks are numbered.
func TestNothingOvertakesAHeldCall(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	body := started("msg_1") + use(0, "toolu_a", "bash", "{}") + ": working\n\n" + text(1, "And more.") + ping + "data:\n\n" + ended("tool_use")
	if err := p.Feed(body); err != nil {
		t.Fatal(err)
	}
	equal(t, "before the ruling", p.Got.String(), started("msg_1"))
	p = newPlayer(t, request1, 1<<20, intercept.Limits{})
	p.Turn(body, intercepttest.ReleaseAll)
	equal(t, "after the ruling", p.Got.String(), body)
}

func TestWhole(t *testing.T) {
	body := whole(`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Look."},`+aCall+`,{"type":"tool_use","id":"toolu_b","name":"read","input":{}}`, "tool_use")
	p := newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, intercepttest.ReleaseAll)
	equal(t, "released", p.Got.String(), body)
	p = newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, intercepttest.DenyAll)
	if p.Got.Len() != 0 || p.Last.Next == nil {
		t.Fatalf("denied: %s", p.Got.String())
	}
	equal(t, "continuation", gjson.GetBytes(p.Last.Next.Body, "messages.1.content").Raw, gjson.Get(body, "content").Raw)
	p.Turn(strings.NewReplacer("msg_1", "msg_2", `"m1"`, `"m2"`).Replace(whole(`{"type":"text","text":"Fine."}`, "end_turn")), intercepttest.ReleaseAll)
	equal(t, "continued", p.Got.String(), strings.Replace(whole(`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Look."},{"type":"text","text":"Fine."}`, "end_turn"), `{"input_tokens":10,"output_tokens":7}`, `{"input_tokens":20,"output_tokens":14}`, 1))
	p = newPlayer(t, request1, 11, intercept.Limits{})
	p.Turn(body, func(n int, c intercept.Call) intercept.Ruling {
		if n == 0 {
			return intercepttest.DenyAll(n, c)
		}
		return intercepttest.EditAll(n, c)
	})
	equal(t, "mixed", p.Got.String(), strings.Replace(strings.Replace(body, aCall+",", "", 1), `"input":{}`, `"input":`+intercepttest.Edited, 1))
}

func TestAborted(t *testing.T) {
	p := newPlayer(t, request1, 64, intercept.Limits{})
	p.Turn(listed, intercepttest.AbortAll)
	equal(t, "streamed", p.Got.String(), started("msg_1")+ping+speech+text(1, "\n\nStopped.")+ended("end_turn"))
	p = newPlayer(t, request1, 64, intercept.Limits{})
	p.Turn(whole(aCall, "tool_use"), intercepttest.AbortAll)
	equal(t, "whole", p.Got.String(), whole(`{"type":"text","text":"Stopped."}`, "end_turn"))
}

func TestContinuationsAreBounded(t *testing.T) {
	p := newPlayer(t, request1, 64, intercept.Limits{MaxContinuations: 2})
	for i := 0; ; i++ {
		p.Turn(strings.ReplaceAll(listed, "toolu_a", fmt.Sprint("toolu_", i)), intercepttest.DenyAll)
		if p.Last.Next == nil {
			break
		}
		if i > 2 {
			t.Fatal("no bound")
		}
	}
	m, err := foldStrict(p.Got.String())
	if err != nil || m.stop != "end_turn" || len(m.blocks) != 4 || !strings.Contains(m.blocks[3].text, "denied 3 times") || strings.Contains(p.Got.String(), "bash") {
		t.Fatalf("%v: got\n%s", err, p.Got.String())
	}
	r := asking(t, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":`+strictjson.Quote(m.text())+`},{"role":"user","content":"next"}]}`)
	if r.Splice(p.Last.Hidden) != 1 {
		t.Fatal("not spliced")
	}
	checkConversation(t, string(r.Envelope().Body))
	if got := gjson.GetBytes(r.Envelope().Body, "messages.#").Int(); got != 9 {
		t.Errorf("%d messages in %s", got, r.Envelope().Body)
	}
}

func TestErrorInsideVoidsTheCall(t *testing.T) {
	fault := sent("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`)
	for _, fault := range []string{fault, "data: {\"error\":{\"message\":\"boom\"}}\n\n", "event: error\ndata: {\"message\":\"boom\"}\n\n", "event: error\ndata: {\"type\":\"overloaded_error\"}\n\n"} {
		p := newPlayer(t, request1, 16, intercept.Limits{})
		p.Turn(started("msg_1")+begun(0, "a", "bash")+more(0, `{"a":`)+fault, intercepttest.ReleaseAll)
		equal(t, "agent", p.Got.String(), started("msg_1")+fault)
	}
}

func TestCutIsNoEnd(t *testing.T) {
	for _, body := range []string{started("msg_1") + speech + one, started("msg_1") + speech, whole(aCall, "tool_use")[:80]} {
		a := newPlayer(t, request1, 1, intercept.Limits{}).Answer
		a.Begin()
		if _, err := a.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.End(false); err == nil {
			t.Errorf("%s: an answer that was cut counts as ended", body)
		}
	}
	a := newPlayer(t, request1, 1, intercept.Limits{}).Answer
	a.Begin()
	if _, err := a.Write([]byte(strings.TrimSuffix(listed, stopped))); err != nil {
		t.Fatal(err)
	}
	if _, err := a.End(false); err != nil || len(a.Calls()) != 1 {
		t.Errorf("an answer that has announced its end: %v", err)
	}
}

func TestHeartbeat(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{})
	if got := p.Answer.Heartbeat(intercept.HeartbeatEvent); got != nil {
		t.Errorf("before the form is known: %q", got)
	}
	p.Turn(listed, intercepttest.DenyAll)
	p.Answer.Begin() // the continuation has not answered yet
	for heartbeat, want := range map[intercept.Heartbeat]string{intercept.HeartbeatEvent: ping, intercept.HeartbeatDelta: ping, intercept.HeartbeatComment: ": keepalive\n"} {
		equal(t, "heartbeat", string(p.Answer.Heartbeat(heartbeat)), want)
	}
	p = newPlayer(t, request1, 1<<20, intercept.Limits{})
	if err := p.Feed(whole(aCall, "tool_use")); err != nil {
		t.Fatal(err)
	}
	equal(t, "whole", string(p.Answer.Heartbeat(intercept.HeartbeatEvent)), "\n")
}
