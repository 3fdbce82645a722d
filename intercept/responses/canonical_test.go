package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Finding 1, H1 (d, g, h), H3 and N7: a call whose events clients read in different
// ways is released and edited in canonical form alone.
func TestCallsThatClientsReadInDifferentWays(t *testing.T) {
	const args = `{"command":"rm -rf /tmp/junk"}`
	for name, body := range attacks() {
		t.Run(name, func(t *testing.T) {
			for _, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.EditAll} {
				p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, rule)
				if p.Err != nil || len(p.Calls[0]) != 1 {
					t.Fatalf("error %v, calls %+v", p.Err, p.Calls)
				}
				c := p.Calls[0][0]
				if c.Name != "bash" || c.Arguments != args || len(c.Flags) > 0 {
					t.Errorf("shown as %+v", c)
				}
				if rule(0, c).Action == intercept.Edit {
					c.Arguments = intercepttest.Edited
				}
				checkRead(t, p.Out(), c)
				want := bare([]byte(stream("resp_1", speech, function("a", "bash", c.Arguments))))
				if got := bare(p.Out()); got != want {
					t.Errorf("the agent has\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// bare is a stream as far as its call goes: all of its events, with the fragments in
// one, without numbers and padding.
func bare(out []byte) string {
	var b strings.Builder
	delta := ""
	for _, part := range intercepttest.Parts(out) {
		list, _ := intercepttest.Payloads(part)
		for _, payload := range list {
			v := gjson.ParseBytes(payload)
			typ := v.Get("type").Str
			if strings.HasSuffix(typ, "arguments.delta") {
				delta += v.Get("delta").Str
				continue
			}
			if delta != "" {
				b.WriteString("delta " + delta + "\n")
				delta = ""
			}
			switch {
			case strings.Contains(typ, "function_call"), v.Get("item.type").Str == "function_call":
				p := strictjson.Patch{JSON: string(payload)}
				p.Delete("sequence_number")
				b.WriteString(p.JSON + "\n")
			case v.Get("response.output.1").Exists():
				b.WriteString("list " + v.Get("response.output.1").Raw + "\n")
			}
		}
	}
	return b.String()
}

// Finding 1: what no client needs does not survive in the item of a call of any kind,
// streamed or whole, released or edited.
func TestUnknownFieldsOfACallDoNotSurvive(t *testing.T) {
	for _, item := range []string{function("a", "bash", ls), custom, local, shell, patch, computer, search, programmatic(function("a", "bash", ls))} {
		odd := strings.Replace(item, `"status":`, `"__json_buf":"`+mark+`","x":{"y":["`+mark+`"]},"status":`, 1)
		for want, body := range map[string]string{stream("resp_1", item): stream("resp_1", odd), whole("resp_1", item): whole("resp_1", odd)} {
			for name, rule := range map[string]intercepttest.Ruler{"released": intercepttest.ReleaseAll, "edited": intercepttest.EditAll} {
				p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, rule)
				if p.Err != nil {
					t.Fatalf("error %v, calls %+v", p.Err, p.Calls)
				}
				out := string(p.Out())
				if strings.Contains(out, mark) {
					t.Errorf("%s: %s", name, out)
				}
				if got, want := callsIn(t, out), callsIn(t, want); name == "released" && (len(got) != 1 || got[0].Raw != want[0].Raw) {
					t.Errorf("released:\n%s\nwant\n%s", got, want)
				}
			}
		}
	}
}

// A call that upstream does not identify gets an id of heldcall's by which its output names it, the
// same in each of its events and for the model, and no id of an item.
func TestCallsWithoutIDs(t *testing.T) {
	for _, body := range []string{stream("resp_1", function("a", "bash", ls)), whole("resp_1", function("a", "bash", ls))} {
		body = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(body, `"id":"fc_a",`, ""), `"item_id":"fc_a",`, ""), `"call_id":"call_a",`, "")
		p := play(t, asked(request1), bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		calls := callsIn(t, string(p.Out()))
		id := strictjson.MadeUpID("t1", 0)
		if len(calls) != 1 || calls[0].Get("call_id").Str != id || calls[0].Get("id").Exists() || strings.Contains(string(p.Out()), "fc_") {
			t.Errorf("calls %s in\n%s", calls, p.Out())
		}
		checkRead(t, p.Out(), p.Calls[0]...)
	}
}

// Finding 1: clients that put items together by their id read each of several calls
// with the same one.
func TestCallsThatShareAnItemID(t *testing.T) {
	for _, body := range []string{stream("resp_1", function("a", "bash", ls), function("a", "bash", ls)), whole("resp_1", function("a", "bash", ls), function("a", "bash", ls))} {
		p := play(t, asked(request1), bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		calls := callsIn(t, string(p.Out()))
		if len(calls) != 2 || calls[0].Get("id").Str == calls[1].Get("id").Str {
			t.Errorf("calls %s in\n%s", calls, p.Out())
		}
	}
}

// Finding 1: [DONE] ends a stream for many clients, so no call follows it.
func TestNothingFollowsDone(t *testing.T) {
	for _, at := range []string{"event: response.function_call_arguments.delta", "event: response.function_call_arguments.done", "event: response.output_item.done", "event: response.completed"} {
		i := strings.LastIndex(listed, at)
		p := newPlayer(t, asked(request1), 64, intercept.Limits{})
		if err := p.Feed(listed[:i] + done + listed[i:]); err == nil {
			t.Errorf("[DONE] before %s is understood", at)
		}
		if strings.Contains(p.Got.String(), "[DONE]") {
			t.Errorf("[DONE] before %s: the agent has\n%s", at, p.Got.String())
		}
	}
}

// A call without fragments (N7, the form of LM Studio) is released with them.
func TestCallWithoutFragments(t *testing.T) {
	body := stream("resp_1", function("a", "bash", ls))
	at := strings.Index(body, "event: response.function_call_arguments.delta")
	body = body[:at] + body[strings.Index(body, "event: response.function_call_arguments.done"):]
	p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
	if p.Err != nil || len(p.Calls[0]) != 1 {
		t.Fatalf("error %v, calls %+v", p.Err, p.Calls)
	}
	checkRead(t, p.Out(), p.Calls[0]...)
}

// A call that is cut off by the length of the answer, or that is no strict JSON, is
// asked about in a stream as in a whole answer.
func TestDoubtfulCalls(t *testing.T) {
	for name, body := range map[string]string{
		"incomplete":    strings.ReplaceAll(stream("resp_1", function("a", "bash", ls)), `"status":"completed","arguments":"{`, `"status":"incomplete","arguments":"{`),
		"truncated":     stream("resp_1", function("a", "bash", `{"command":"rm`)),
		"no object":     stream("resp_1", function("a", "bash", `["rm"]`)),
		"a name twice":  stream("resp_1", function("a", "bash", `{"a":1,"a":2}`)),
		"another whole": strings.Replace(stream("resp_1", function("a", "bash", `{"a":1,"b":2}`)), `"arguments":"{\"a\":1,\"b\":2}"`, `"arguments":"{\"a\":1,\"b\":3}"`, 1),
		"another name":  strings.Replace(stream("resp_1", function("a", "bash", ls)), `"name":"bash"}`, `"name":"rm"}`, 1),
	} {
		p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil || len(p.Calls[0]) != 1 || len(p.Calls[0][0].Ambiguous) == 0 || strings.Contains(string(p.Before), "function_call") {
			t.Errorf("%s: error %v, calls %+v; before the ruling the agent has\n%s", name, p.Err, p.Calls, p.Before)
		}
		checkRead(t, p.Out(), p.Calls[0]...)
		p = play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err != nil || leak(p.Out()) != "" {
			t.Errorf("%s, denied: error %v; the agent has\n%s", name, p.Err, p.Out())
		}
	}
}
