package messages

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// cut in three: a client that skips the middle piece runs rm -rf /.
const (
	piece1, piece2, piece3 = `{"cmd":"rm -rf /`, `tmp/junk`, `"}`
	inThree                = piece1 + piece2 + piece3
)

// oddPieces are forms of the middle piece of an input that some clients skip.
var oddPieces = map[string]func(event string) string{
	"no type":                  without(`"type":"content_block_delta",`),
	"an empty type":            with(`"type":"content_block_delta"`, `"type":""`),
	"null for a type":          with(`"type":"content_block_delta"`, `"type":null`),
	"no name":                  unnamed,
	"the name message":         with("event: content_block_delta", "event: message"),
	"an unknown field":         with(`"index":0`, `"index":0,"x":1`),
	"__proto__":                with(`"index":0`, `"index":0,"__proto__":{"a":1}`),
	"__proto__ in the delta":   with(`"partial_json"`, `"__proto__":{},"partial_json"`),
	"another field beside":     with(`"partial_json"`, `"text":"x","partial_json"`),
	"an id line":               with("data: ", "id: 7\ndata: "),
	"a comment line":           with("data: ", ": x\ndata: "),
	"a retry line":             with("data: ", "retry: 7\ndata: "),
	"two lines of data":        with(`,"index"`, ",\ndata: \"index\""),
	"a second event line":      with("data: ", "event: content_block_delta\ndata: "),
	"after a message_delta":    func(event string) string { return sent("message_delta", `"delta":{"stop_reason":"tool_use"}`) + event },
	"after the end of the use": func(event string) string { return closed(0) + event },
}

func with(old, replacement string) func(string) string {
	return func(event string) string { return strings.Replace(event, old, replacement, 1) }
}

func without(old string) func(string) string { return with(old, "") }

// checkCanonical plays an answer with one call of bash, and reads what the agent gets when it is released, edited and denied.
func checkCanonical(t *testing.T, body, arguments string, want func(arguments string) string) {
	t.Helper()
	last := finalWord
	if strings.HasPrefix(body, "{") {
		last = whole(textBlock("Very well."), "end_turn")
	}
	for _, sizes := range [][]byte{nil, {0}, {6, 200}} {
		p := play(t, bodies(body), sizes, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		calls := p.Calls[0]
		if len(calls) != 1 || calls[0].Arguments != arguments || len(calls[0].Flags) > 0 {
			t.Fatalf("calls: %+v", calls)
		}
		equal(t, "released", string(p.Out()), want(arguments))
		p = play(t, bodies(body), sizes, intercept.Limits{}, intercepttest.EditAll)
		equal(t, "edited", string(p.Out()), want(intercepttest.Edited))
		p = play(t, bodies(body, last), sizes, intercept.Limits{}, intercepttest.DenyAll)
		if p.Err != nil || leak(p.Out()) != "" {
			t.Fatalf("denied: %v: %s", p.Err, p.Out())
		}
		again := play(t, [][]byte{[]byte(want(arguments))}, nil, intercept.Limits{}, intercepttest.ReleaseAll)
		equal(t, "the canonical form in canonical form", string(again.Out()), want(arguments))
	}
}

// Finding H1: a piece of an input that some clients skip. The call goes out in
// canonical form, so that all of them read the input that was judged.
func TestPieceThatClientsSkip(t *testing.T) {
	for name, odd := range oddPieces {
		t.Run(name, func(t *testing.T) {
			middle := odd(more(0, piece2))
			if middle == more(0, piece2) {
				t.Fatal("the piece is not odd")
			}
			end := sent("message_delta", `"delta":{"stop_reason":"tool_use"}`) + stopped
			lead, rest := "", end
			if name == "after a message_delta" {
				lead, rest = strings.TrimSuffix(end, stopped), stopped
			}
			checkCanonical(t, started("msg_1")+begun(0, "toolu_a", "bash")+more(0, piece1)+middle+more(0, piece3)+closed(0)+rest, inThree, func(arguments string) string {
				return started("msg_1") + use(0, "toolu_a", "bash", arguments) + lead + rest
			})
		})
	}
}

// Findings H1 and H2: the opening of a call that clients read in different ways,
// and its end. No unknown field of it survives, not even an edit.
func TestOddOpeningAndEnd(t *testing.T) {
	open := begun(0, "toolu_a", "bash")
	for name, body := range map[string]string{
		"__json_buf":                    with(`"input":{}`, `"input":{},"__json_buf":"{\"cmd\":\"rm -rf /\",\"x\":"`)(open) + more(0, "") + more(0, `{"cmd":"ls"}`) + closed(0),
		"__proto__ in the block":        with(`"input":{}`, `"input":{},"__proto__":{"input":{"cmd":"rm"}}`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"__proto__ in the event":        with(`"index":0`, `"index":0,"__proto__":{"index":1}`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"an unknown field":              with(`"input":{}`, `"input":{},"inputs":[]`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"no type":                       without(`"type":"content_block_start",`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"no input":                      without(`,"input":{}`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"null for an input":             with(`"input":{}`, `"input":null`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"a text for an input":           with(`"input":{}`, `"input":""`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"an input, and an empty piece":  with(`"input":{}`, `"input":{"cmd":"ls"}`)(open) + more(0, "") + closed(0),
		"an input and no piece":         with(`"input":{}`, `"input":{"cmd":"ls"}`)(open) + closed(0),
		"a caller that is no object":    with(`"input":{}`, `"input":{},"caller":"x"`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"a caller without its tool":     with(`"input":{}`, `"input":{},"caller":{"type":"code_execution_20250825"}`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"an unknown caller":             with(`"input":{}`, `"input":{},"caller":{"type":"someone"}`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"a toolset that is not offered": with(`"input":{}`, `"input":{},"toolset_name":"delete"`)(open) + more(0, `{"cmd":"ls"}`) + closed(0),
		"an end with more in it":        open + more(0, `{"cmd":"ls"}`) + with(`"index":0`, `"index":0,"delta":{}`)(closed(0)),
		"an end without a type":         open + more(0, `{"cmd":"ls"}`) + without(`"type":"content_block_stop",`)(closed(0)),
		"no end":                        open + more(0, `{"cmd":"ls"}`),
		"two ends":                      open + more(0, `{"cmd":"ls"}`) + closed(0) + closed(0),
		"numbered from 1":               strings.ReplaceAll(open+more(0, `{"cmd":"ls"}`)+closed(0), `"index":0`, `"index":1`),
	} {
		t.Run(name, func(t *testing.T) {
			checkCanonical(t, started("msg_1")+body+ended("tool_use"), `{"cmd":"ls"}`, func(arguments string) string {
				return started("msg_1") + use(0, "toolu_a", "bash", arguments) + ended("tool_use")
			})
		})
	}
}

// Finding H2: a call without arguments whose block has a prefix of them.
func TestBufferOfAnEmptyInput(t *testing.T) {
	body := started("msg_1") + with(`"input":{}`, `"input":{},"__json_buf":"{\"cmd\":\"rm -rf /\"}"`)(begun(0, "toolu_a", "bash")) + more(0, "") + closed(0) + ended("tool_use")
	checkCanonical(t, body, "{}", func(arguments string) string {
		return started("msg_1") + use(0, "toolu_a", "bash", arguments) + ended("tool_use")
	})
}

// Findings H1 and H2 in whole answers: no unknown field of a call is released.
func TestOddWholeCall(t *testing.T) {
	for _, odd := range []string{
		`"__json_buf":"{"`, `"__proto__":{"input":{"cmd":"rm"}}`, `"x":1`, `"partial_json":"{}"`, `"caller":[]`, `"caller":{"type":"direct","more":1}`, `"toolset_name":"delete"`, `"signature":5`,
	} {
		call := func(arguments, odd string) string {
			return whole(`{"type":"text","text":"Look."},{"type":"tool_use","id":"toolu_a","name":"bash","input":`+arguments+odd+`}`, "tool_use")
		}
		checkCanonical(t, call(`{"cmd":"ls"}`, ","+odd), `{"cmd":"ls"}`, func(arguments string) string { return call(arguments, "") })
	}
	for _, input := range []string{"", `,"input":null`} {
		body := whole(`{"type":"tool_use","id":"toolu_a","name":"bash"`+input+`}`, "tool_use")
		checkCanonical(t, body, "{}", func(arguments string) string {
			return whole(`{"type":"tool_use","id":"toolu_a","name":"bash","input":`+arguments+`}`, "tool_use")
		})
	}
}

// The fields that providers send with calls and clients send back pass, and an edit
// keeps them.
func TestExtrasOfACall(t *testing.T) {
	toolset := strings.Replace(request1, `"tools":[`, `"tools":[{"type":"computer_toolset_20260801"},`, 1)
	for _, extra := range []string{
		`"caller":{"type":"direct"}`,
		`"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}`,
		`"caller":{"type":"code_execution_20991231","tool_id":"srvtoolu_1"}`,
		`"toolset_name":null`,
		`"toolset_name":"computer"`,
		`"signature":"Eq"`,
		`"extra_content":{"google":{"thought_signature":"Eq"}}`,
		`"caller":{"type":"direct"},"thought_signature":"Eq"`,
	} {
		call := func(name, input string) string {
			return `{"type":"tool_use","id":"toolu_a","name":"` + name + `","input":` + input + `,` + extra + `}`
		}
		streamed := func(arguments string) string {
			return started("msg_1") + opened(0, call("click", "{}")) + more(0, arguments) + closed(0) + ended("tool_use")
		}
		inWhole := func(arguments string) string { return whole(call("click", arguments), "tool_use") }
		for _, body := range []func(string) string{streamed, inWhole} {
			p := newPlayer(t, toolset, 1<<20, intercept.Limits{})
			p.Turn(body(`{"a":1}`), func(_ int, c intercept.Call) intercept.Ruling {
				program := slices.Equal(c.Flags, []string{intercept.FlagProgram("")})
				if program != strings.Contains(extra, "code_execution") || len(c.Ambiguous) > 0 || (!program && len(c.Flags) > 0) {
					t.Errorf("%s: %+v", extra, c)
				}
				return intercept.Ruling{Action: intercept.Release}
			})
			equal(t, "released", p.Got.String(), body(`{"a":1}`))
			p = newPlayer(t, toolset, 1<<20, intercept.Limits{})
			p.Turn(body(`{"a":1}`), intercepttest.EditAll)
			equal(t, "edited", p.Got.String(), body(intercepttest.Edited))
		}
	}
	// A tool of the agent's own is not one of a toolset, whatever the call contains.
	own := started("msg_1") + opened(0, `{"type":"tool_use","id":"toolu_a","name":"bash","input":{},"toolset_name":"computer"}`) + more(0, `{"a":1}`) + closed(0) + ended("tool_use")
	p := newPlayer(t, toolset, 1<<20, intercept.Limits{})
	p.Turn(own, intercepttest.ReleaseAll)
	equal(t, "a tool of the agent's own", p.Got.String(), started("msg_1")+use(0, "toolu_a", "bash", `{"a":1}`)+ended("tool_use"))
}

// A call is refused in an answer whose blocks some clients number differently.
func TestCallAfterABlockThatClientsSkip(t *testing.T) {
	limits := intercept.Limits{}
	for _, skipped := range []string{
		unnamed(speech),
		without(`"type":"content_block_start",`)(speech),
		with("event: content_block_start", "event: message")(speech),
	} {
		for _, end := range []string{one + ended("tool_use"), opened(1, aCall)} {
			p := newPlayer(t, request1, 7, limits)
			if err := p.Feed(started("msg_1") + skipped + end); err == nil {
				t.Error("a call was released after a block that some clients skip: they take its number for that of another")
			}
		}
		p := newPlayer(t, request1, 7, limits)
		p.Turn(started("msg_1")+skipped+ended("end_turn"), intercepttest.ReleaseAll)
		equal(t, "text alone", p.Got.String(), started("msg_1")+skipped+ended("end_turn"))
	}
}

// The SDKs drop blocks that precede the start of the message, and count those after it
// from 0.
func TestCallAfterBlocksBeforeTheMessage(t *testing.T) {
	for _, body := range []string{
		speech + started("msg_1") + one,
		speech + strings.Replace(started("msg_1"), `"content":[]`, `"content":[`+aCall+`]`, 1),
	} {
		p := newPlayer(t, request1, 7, intercept.Limits{})
		if err := p.Feed(body + ended("tool_use")); err == nil {
			t.Errorf("%q was understood", body)
		}
		if out := p.Got.String(); strings.Contains(out, "tool_use") {
			t.Errorf("the agent got %q", out)
		}
	}
}

// Only some clients read a call after [DONE], or one that continues after it.
func TestCallAfterDone(t *testing.T) {
	for _, body := range []string{done + one, begun(1, "toolu_a", "bash") + more(1, `{"cmd":"rm -rf /`) + done + more(1, `tmp"}`) + closed(1)} {
		p := newPlayer(t, request1, 7, intercept.Limits{})
		if err := p.Feed(started("msg_1") + speech + body + ended("tool_use")); err == nil {
			t.Errorf("%q was understood", body)
		}
	}
	p := newPlayer(t, request1, 7, intercept.Limits{})
	p.Turn(started("msg_1")+done+speech+ended("end_turn"), intercepttest.ReleaseAll)
	equal(t, "text alone", p.Got.String(), started("msg_1")+done+speech+ended("end_turn"))
}

// All calls are rendered in the same way.
func TestCallsBesideAnOddOne(t *testing.T) {
	other := use(1, "toolu_b", "read", `{"path"`, `:"x"}`)
	odd := started("msg_1") + with(`"input":{}`, `"input":{},"x":1`)(use(0, "toolu_a", "bash", "{}")) + other + ended("tool_use")
	p := newPlayer(t, request1, 64, intercept.Limits{})
	p.Turn(odd, intercepttest.ReleaseAll)
	rest := use(1, "toolu_b", "read", `{"path":"x"}`) + ended("tool_use")
	equal(t, "released", p.Got.String(), started("msg_1")+use(0, "toolu_a", "bash", "{}")+rest)
	p = newPlayer(t, request1, 64, intercept.Limits{})
	p.Turn(odd, first(intercepttest.EditAll))
	equal(t, "edited", p.Got.String(), started("msg_1")+use(0, "toolu_a", "bash", intercepttest.Edited)+rest)
}

// A long input is rendered in pieces, because some clients read no long lines.
func TestCanonicalInputComesInPieces(t *testing.T) {
	long := `{"text":"` + strings.Repeat("ü€", 20_000) + `"}`
	body := started("msg_1") + with(`"input":{}`, `"input":`+long)(begun(0, "toolu_a", "bash")) + closed(0) + ended("tool_use")
	p := play(t, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	for line := range strings.Lines(string(p.Out())) {
		if len(line) > 64<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	checkClients(t, nil, p.Out(), []string{"bash(" + long + ")"})
	if m, err := foldStrict(string(p.Out())); err != nil || m.blocks[0].input != long {
		t.Errorf("%v: the input differs", err)
	}
}

// What the model reads of a denied call has no fields that the provider refuses.
func TestOddCallInAContinuation(t *testing.T) {
	body := started("msg_1") + with(`"input":{}`, `"caller":{"type":"direct"},"input":{},"__json_buf":"{"`)(use(0, "toolu_a", "bash", `{"a":1}`)) + ended("tool_use")
	p := play(t, bodies(body, finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	equal(t, "said", gjson.Get(p.Nexts[0], "messages.1.content.0").Raw, `{"type":"tool_use","id":"toolu_a","name":"bash","input":{"a":1},"caller":{"type":"direct"}}`)
}

// Finding F7: a stream that ends without the end of its message, although the
// connection ends as it should. Its calls are void, text alone is not.
func TestStreamWithoutItsEnd(t *testing.T) {
	for _, body := range []string{
		started("msg_1") + speech + begun(1, "toolu_a", "bash"),
		started("msg_1") + speech + begun(1, "toolu_a", "bash") + more(1, `{"command":`),
		started("msg_1") + speech + one,
		started("msg_1") + speech + one + ping + text(2, "so"),
		started("msg_1") + speech + one + done,
	} {
		p := play(t, bodies(body), []byte{30}, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err == nil || !strings.Contains(string(p.Out()), `"upstream_cut"`) || len(p.Calls) > 0 {
			t.Errorf("%q: %v, calls %v", body, p.Err, p.Calls)
		}
		if leak(p.Out()) != "" {
			t.Errorf("a void call was released: %s", p.Out())
		}
	}
	text := started("msg_1") + speech
	p := play(t, bodies(text), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	equal(t, "text alone", string(p.Out()), text)
}
