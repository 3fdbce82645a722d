package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

// settled returns the records of an answer to a request whose calls are ruled on by rule.
// After a denial the model answers finalWord.
func settled(t *testing.T, body, answer string, rule intercepttest.Ruler) [][]byte {
	t.Helper()
	p := newPlayer(t, body, 64, intercept.Limits{})
	for p.Turn(answer, rule); p.Last.Next != nil; {
		p.Turn(finalWord, rule)
	}
	return p.Last.Hidden
}

// conversation is a request with messages.
func conversation(messages ...string) string {
	return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
}

func user(content string) string      { return `{"role":"user","content":` + content + `}` }
func assistant(content string) string { return `{"role":"assistant","content":` + content + `}` }
func system(content string) string    { return `{"role":"system","content":` + content + `}` }

const (
	reminder = `{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"}`
	hi       = `[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]`
)

// Claude Code lets the system speak between the others, marks other blocks for the
// cache from request to request, and sends the same content as text or as blocks.
func TestSpliceIntoClaudeCodesHistory(t *testing.T) {
	const denied = `{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command":"ls"}}`
	first := conversation(user(hi), system(`[{"type":"text","text":"Effort: high","cache_control":{"type":"ephemeral"}}]`))
	records := settled(t, first, listed, intercepttest.DenyAll)
	for _, history := range [][]string{
		{user(`"hi"`), system(`"Effort: high"`)},
		{user(`"hi"`)},
		{user(hi), system(`"Effort: low"`)},
		{user(`[` + reminder + `,{"type":"text","text":"hi"}]`), system(`"Effort: high"`), system(`"And so on"`)},
	} {
		echo := assistant(`[{"type":"text","text":"Let me look."},{"type":"text","text":"Very well."}]`)
		r := asking(t, conversation(append(history, echo, user(`"next"`))...))
		if r.Splice(records) != 1 {
			t.Fatalf("not found after %s", history)
		}
		want := conversation(append(history, assistant(`[{"type":"text","text":"Let me look."},`+denied+`]`), user(`[`+denialOf("toolu_a")+`]`),
			assistant(`[{"type":"text","text":"Very well."}]`), user(`"next"`))...)
		equal(t, "spliced", string(r.Envelope().Body), want)
	}
}

// The results of one message are together in the next message of the user, also if a
// message of the system is between the two.
func TestResultsAfterTheSystem(t *testing.T) {
	records := settled(t, request1, two, first(intercepttest.DenyAll))
	echo := assistant(`[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_b","name":"read","input":{"path":"x"}}]`)
	result := `{"type":"tool_result","tool_use_id":"toolu_b","content":"data"}`
	r := asking(t, conversation(user(`"hi"`), echo, system(`"Effort: high"`), user(`[`+result+`,`+reminder+`]`)))
	if r.Splice(records) != 1 {
		t.Fatal("not found")
	}
	equal(t, "results", gjson.GetBytes(r.Envelope().Body, "messages.3").Raw, user(`[`+denialOf("toolu_a")+`,`+result+`,`+reminder+`]`))
	equal(t, "the system", gjson.GetBytes(r.Envelope().Body, "messages.2").Raw, system(`"Effort: high"`))
}

// Servers number the calls of each answer from 0: each record belongs to the answer after
// the same message.
func TestSpliceWhereIdsRepeat(t *testing.T) {
	answer := started("msg_1") + use(0, "call_0", "bash", "{}") + use(1, "call_1", "read", "{}") + ended("tool_use")
	echo := assistant(`[{"type":"tool_use","id":"call_1","name":"read","input":{}}]`)
	result := func(content string) string {
		return user(`[{"type":"tool_result","tool_use_id":"call_1","content":"` + content + `"}]`)
	}
	deny := func(told string) intercepttest.Ruler {
		return first(func(int, intercept.Call) intercept.Ruling { return intercept.Ruling{ModelMessage: told} })
	}
	records := settled(t, conversation(user(`"hi"`)), answer, deny("First."))
	records = append(records, settled(t, conversation(user(`"hi"`), echo, result("one")), answer, deny("Second."))...)
	r := asking(t, conversation(user(`"hi"`), echo, result("one"), echo, result("two")))
	if n := r.Splice(records); n != 2 {
		t.Fatalf("%d records found", n)
	}
	got := gjson.GetBytes(r.Envelope().Body, "messages.#.content.0.content").Raw
	equal(t, "denials", got, `["First.","Second."]`)
}

// An agent that shows less, or other, than it got leaves a conversation that is
// valid nonetheless.
func TestSpliceIntoAShortenedHistory(t *testing.T) {
	records := settled(t, request1, strings.ReplaceAll(two, "toolu_b", "toolu_01A09q90qw90lq91"), first(intercepttest.DenyAll))
	call := `{"type":"tool_use","id":"toolu_01A09q90qw90lq91","name":"read","input":{"path":"y"}}`
	result := user(`[{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq91","content":"data"}]`)
	for _, echo := range []string{`[` + call + `]`, `[{"type":"text","text":"Let me look. "},` + call + `]`, `[{"type":"text","text":"Let me"},{"type":"text","text":"look."},` + call + `]`} {
		r := asking(t, conversation(user(`"Summary of what was before."`), assistant(echo), result))
		if r.Splice(records) != 1 {
			t.Fatalf("%s: not found", echo)
		}
		body := string(r.Envelope().Body)
		checkConversation(t, body)
		if !strings.Contains(body, denialOf("toolu_a")) || !strings.Contains(body, call) {
			t.Errorf("%s became %s", echo, body)
		}
	}
	for _, other := range []string{`[` + strings.Replace(call, "lq91", "lq92", 1) + `]`, `[` + strings.Replace(call, "read", "write", 1) + `]`, `"Let me look."`} {
		body := conversation(user(`"hi"`), assistant(other), result)
		r := asking(t, body)
		if r.Splice(records) != 0 || string(r.Envelope().Body) != body {
			t.Errorf("%s was taken for the answer", other)
		}
	}
}

// Finding 20: an agent that has rewritten the text beside a call, or dropped another
// call, keeps its own text; the denied call goes beside it.
func TestSpliceIntoARewrittenMessage(t *testing.T) {
	records := settled(t, request1, strings.ReplaceAll(two, "toolu_b", "toolu_01A09q90qw90lq91"), first(intercepttest.DenyAll))
	call := `{"type":"tool_use","id":"toolu_01A09q90qw90lq91","name":"read","input":{"path":"y"}}`
	other := `{"type":"tool_use","id":"toolu_01A09q90qw90lq92","name":"read","input":{"path":"y"}}`
	for echo, results := range map[string]string{
		`[{"type":"text","text":"[REDACTED]"},` + call + `]`:               `{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq91","content":"data"}`,
		`[{"type":"text","text":"[REDACTED]"},` + call + `,` + other + `]`: `{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq91","content":"data"},{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq92","content":"data"}`,
	} {
		r := asking(t, conversation(user(`"Another."`), assistant(echo), user(`[`+results+`]`)))
		if r.Splice(records) != 1 {
			t.Fatalf("%s: not found", echo)
		}
		body := string(r.Envelope().Body)
		checkConversation(t, body)
		if !strings.Contains(body, denialOf("toolu_a")) || !strings.Contains(body, echo[:len(echo)-1]+",") || strings.Contains(body, "Let me look.") {
			t.Errorf("%s became %s", echo, body)
		}
	}
}
