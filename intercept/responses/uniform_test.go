package responses

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Finding 1, H1 (d, g, h), H3 and N7: a call whose events clients read in different
// ways is flagged, and released and edited in canonical form alone.
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
				if c.Name != "bash" || c.Arguments != args || !slices.Contains(c.Flags, intercept.FlagCanonical) {
					t.Errorf("shown as %+v", c)
				}
				if rule(0, c).Action == intercept.Edit {
					c.Arguments = intercepttest.Edited
				}
				checkRead(t, p.Out(), false, c)
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
		list, _ := intercept.Payloads(part)
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
				if p.Err != nil || !flagged(p.Calls[0]) {
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

// A call that upstream does not identify gets an id of heldcall's, the same in each
// of its events and in the output for the model.
func TestCallsWithoutIDs(t *testing.T) {
	for _, body := range []string{stream("resp_1", function("a", "bash", ls)), whole("resp_1", function("a", "bash", ls))} {
		body = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(body, `"id":"fc_a",`, ""), `"item_id":"fc_a",`, ""), `"call_id":"call_a",`, "")
		p := play(t, asked(request1), bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		calls := callsIn(t, string(p.Out()))
		id := strictjson.MadeUpID("t1", 0)
		if len(calls) != 1 || calls[0].Get("call_id").Str != id || calls[0].Get("id").Str != "fc_"+id {
			t.Errorf("calls %s in\n%s", calls, p.Out())
		}
		checkRead(t, p.Out(), false, p.Calls[0]...)
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
		byName := play(t, asked(request1), bodies(listed[:i]+done+listed[i:]), nil, intercept.Limits{Pass: func(intercept.Call) bool { return true }}, intercepttest.ReleaseAll)
		if byName.Err == nil || strings.Contains(string(byName.Out()), "[DONE]") {
			t.Errorf("[DONE] before %s, allowed by name: error %v, the agent has\n%s", at, byName.Err, byName.Out())
		}
	}
}

// Rule of finding 1: a call that passes by its name ends the answer with the first
// event of it that clients read in different ways; nothing of that event passes.
func TestAllowedByNameIsCutAtOddEvents(t *testing.T) {
	limits := intercept.Limits{Pass: func(intercept.Call) bool { return true }}
	for name, body := range attacks() {
		if name == "a list without it" || name == "no end" {
			continue // all of the arguments have passed by then
		}
		p := play(t, asked(request1), bodies(body), []byte{40}, limits, intercepttest.DenyAll)
		out := string(p.Out())
		if strings.Contains(out, "thread.x") || strings.Contains(out, "__proto__") || strings.Contains(out, `"tmp/junk`) {
			t.Errorf("%s: the agent has\n%s", name, out)
		}
		held := len(p.Passed) == 0 && len(p.Nexts) > 0 && leak(p.Out()) == ""
		if cut := p.Err != nil && !strings.Contains(out, "response.completed") && strings.Contains(out, "event: error"); !held && !cut {
			t.Errorf("%s: neither held nor cut: error %v, passed %+v; the agent has\n%s", name, p.Err, p.Passed, out)
		}
	}
}

// An event of a known shape is held too where another item has begun since.
func TestAllowedByNameIsCutWhereItemsAlternate(t *testing.T) {
	body := regexp.MustCompile(`"sequence_number":\d+,`).ReplaceAllString(stream("resp_1", function("a", "bash", ls)), "")
	first := strings.Index(body, "event: response.function_call_arguments.delta")
	last := strings.LastIndex(body, "event: response.function_call_arguments.delta")
	more := strings.Replace(body[first:last], `"delta":"{\"comman"`, `"delta":"x"`, 1)
	other := "event: response.output_item.added\ndata: " + `{"type":"response.output_item.added","output_index":1,"item":{"id":"m","type":"message","status":"in_progress","content":[],"role":"assistant"}}` + "\n\n"
	p := newPlayer(t, asked(request1), 40, intercept.Limits{Pass: func(intercept.Call) bool { return true }})
	err := p.Feed(body[:last] + more + more + other + more + more)
	if diff := cmp.Diff(body[:last]+more+more+other, p.Got.String()); diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A call without fragments (N7, the form of LM Studio) does not pass by its name as it
// came: it is released with them.
func TestAllowedByNameWithoutFragments(t *testing.T) {
	body := stream("resp_1", function("a", "bash", ls))
	at := strings.Index(body, "event: response.function_call_arguments.delta")
	body = body[:at] + body[strings.Index(body, "event: response.function_call_arguments.done"):]
	p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{Pass: func(intercept.Call) bool { return true }}, intercepttest.ReleaseAll)
	if p.Err != nil || len(p.Passed) > 0 || len(p.Calls[0]) != 1 || !flagged(p.Calls[0]) {
		t.Fatalf("error %v, passed %+v, calls %+v", p.Err, p.Passed, p.Calls)
	}
	checkRead(t, p.Out(), false, p.Calls[0]...)
}

// A call that is cut off by the length of the answer, or that is no strict JSON, is
// asked about in a stream as in a whole answer, whatever is allowed by name.
func TestAllowedByNameAsksAboutDoubts(t *testing.T) {
	for name, body := range map[string]string{
		"incomplete":   strings.ReplaceAll(stream("resp_1", function("a", "bash", ls)), `"status":"completed","arguments":"{`, `"status":"incomplete","arguments":"{`),
		"truncated":    stream("resp_1", function("a", "bash", `{"command":"rm`)),
		"no object":    stream("resp_1", function("a", "bash", `["rm"]`)),
		"a name twice": stream("resp_1", function("a", "bash", `{"a":1,"a":2}`)),
	} {
		limits := intercept.Limits{Pass: func(intercept.Call) bool { return true }}
		p := play(t, asked(request1), bodies(body), []byte{40}, limits, intercepttest.ReleaseAll)
		if p.Err != nil || len(p.Calls[0]) != 1 || len(p.Calls[0][0].Ambiguous) == 0 || strings.Contains(string(p.Before), "response.output_item.done") {
			t.Errorf("%s: error %v, calls %+v; before the ruling the agent has\n%s", name, p.Err, p.Calls, p.Before)
		}
		if string(p.Out()) != body {
			t.Errorf("%s, released:\n%s", name, p.Out())
		}
		p = play(t, asked(request1), bodies(body), []byte{40}, limits, intercepttest.DenyAll)
		if cut := strings.Contains(string(p.Before), "function_call"); cut != (p.Err != nil) || strings.Count(string(p.Out()), `"call_id"`) > 1 {
			t.Errorf("%s, denied: error %v; the agent has\n%s", name, p.Err, p.Out())
		}
	}
}
