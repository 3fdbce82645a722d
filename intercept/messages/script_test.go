package messages

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Streams are written by hand, event by event.

const request1 = `{"model":"m","stream":true,"tool_choice":{"type":"any"},"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"bash","description":"runs","input_schema":{"type":"object"}}]}`

// sent renders one streamed event; its data begin with its type.
func sent(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fields)
}

func started(id string) string {
	return sent("message_start", `"message":{"id":"`+id+`","type":"message","role":"assistant","model":"m1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}`)
}

func opened(index int, block string) string {
	return sent("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
}

func added(index int, delta string) string {
	return sent("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, delta))
}

func closed(index int) string { return sent("content_block_stop", fmt.Sprintf(`"index":%d`, index)) }

func ended(reason string) string {
	return sent("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":7}`) + stopped
}

// text is a whole text block.
func text(index int, said ...string) string {
	out := opened(index, `{"type":"text","text":""}`)
	for _, s := range said {
		out += word(index, s)
	}
	return out + closed(index)
}

func word(index int, said string) string {
	return added(index, `{"type":"text_delta","text":`+strictjson.Quote(said)+`}`)
}

func thought(index int, said, signature string) string {
	return opened(index, `{"type":"thinking","thinking":"","signature":""}`) +
		added(index, `{"type":"thinking_delta","thinking":`+strictjson.Quote(said)+`}`) +
		added(index, `{"type":"signature_delta","signature":"`+signature+`"}`) + closed(index)
}

func begun(index int, id, name string) string {
	return opened(index, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name))
}

func more(index int, piece string) string {
	return added(index, `{"type":"input_json_delta","partial_json":`+strictjson.Quote(piece)+`}`)
}

// use is a whole call whose input comes in the given pieces.
func use(index int, id, name string, pieces ...string) string {
	out := begun(index, id, name)
	for _, p := range pieces {
		out += more(index, p)
	}
	return out + closed(index)
}

const (
	ping    = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	stopped = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	done    = "data: [DONE]\n\n"
)

var (
	speech = text(0, "Let me", " look.")
	one    = use(1, "toolu_a", "bash", "", `{"command":`, `"ls"}`)
	listed = started("msg_1") + ping + speech + one + ended("tool_use")
	two    = started("msg_1") + speech + use(1, "toolu_a", "bash", `{"command":"ls"}`) + use(2, "toolu_b", "read", `{"path":"x"}`) + ended("tool_use")
	// finalWord continues an answer after a denial.
	finalWord = started("msg_2") + text(0, "Very well.") + ended("end_turn")
)

func newPlayer(t *testing.T, body string, n int, limits intercept.Limits) *intercepttest.Player {
	t.Helper()
	return intercepttest.NewPlayer(t, asking(t, body), n, limits)
}

// asking is an agent's request with a body.
func asking(t testing.TB, body string) *request {
	t.Helper()
	r, err := parseRequest(intercept.Envelope{Method: "POST", Path: route, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// denialOf is the result with the denial of a call.
func denialOf(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":"` + intercepttest.Denial + `"}`
}

// first rules on the first call as r does and releases the others.
func first(r intercepttest.Ruler) intercepttest.Ruler {
	return func(n int, c intercept.Call) intercept.Ruling {
		if n == 0 {
			return r(n, c)
		}
		return intercepttest.ReleaseAll(n, c)
	}
}

var blockSizes = []int{1, 7, 64, 1 << 20}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}
