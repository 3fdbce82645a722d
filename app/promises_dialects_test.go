package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// The promises in every dialect: the scripted model refuses what the provider would
// refuse, so a continued answer proves that the conversation is valid.

// speech is how an agent speaks one dialect.
type speech struct {
	name, path string
	header     []string
	request    string // %STREAM% is true or false
	// next is the request after an answer: the user writes "go on".
	next func(answer string) string
	// text is the text of a whole answer.
	text func(answer string) string
}

var speeches = []speech{
	{
		name: "chat", path: "/v1/chat/completions",
		request: `{"model":"m","stream":%STREAM%,"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]}`,
		next: func(answer string) string {
			return `{"model":"m","messages":[{"role":"user","content":"do it"},` + gjson.Get(answer, "choices.0.message").Raw + `,{"role":"user","content":"go on"}]}`
		},
		text: func(answer string) string { return gjson.Get(answer, "choices.0.message.content").Str },
	},
	{
		name: "responses, stored", path: "/v1/responses",
		request: `{"model":"m","stream":%STREAM%,"input":"do it","tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`,
		next: func(answer string) string {
			return `{"model":"m","previous_response_id":` + gjson.Get(answer, "id").Raw + `,"input":"go on"}`
		},
		text: responsesText,
	},
	{
		name: "responses, not stored", path: "/v1/responses",
		request: `{"model":"m","store":false,"stream":%STREAM%,"input":[{"role":"user","content":"do it"}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]}`,
		next: func(answer string) string {
			output := gjson.Get(answer, "output").Raw
			return `{"model":"m","store":false,"input":[{"role":"user","content":"do it"},` + output[1:len(output)-1] + `,{"role":"user","content":"go on"}]}`
		},
		text: responsesText,
	},
	{
		name: "messages", path: "/v1/messages", header: []string{"anthropic-version", "2023-06-01", "x-api-key", "k"},
		request: `{"model":"m","max_tokens":100,"stream":%STREAM%,"messages":[{"role":"user","content":"do it"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`,
		next: func(answer string) string {
			return `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"do it"},{"role":"assistant","content":` +
				gjson.Get(answer, "content").Raw + `},{"role":"user","content":"go on"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`
		},
		text: func(answer string) string { return joined(gjson.Get(answer, "content.#.text")) },
	},
}

func responsesText(answer string) string {
	return joined(gjson.Get(answer, `output.#(type=="message")#.content.0.text`))
}

func joined(texts gjson.Result) string {
	var b strings.Builder
	for _, t := range texts.Array() {
		b.WriteString(t.Str)
	}
	return b.String()
}

func (s speech) body(streamed bool) string {
	return strings.ReplaceAll(s.request, "%STREAM%", map[bool]string{true: "true", false: "false"}[streamed])
}

// lister is a model that calls bash when the user asks for it, takes the result, and
// continues.
func lister() *fakemodel.Model {
	return &fakemodel.Model{
		Rules: []fakemodel.Rule{
			{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{lsCall}})},
			{When: fakemodel.ToolAnswers("bash", ""), Say: fakemodel.Say(fakemodel.Answer{Text: "Understood."})},
			{When: fakemodel.UserSays("go on"), Say: fakemodel.Say(fakemodel.Answer{Text: "Going on."})},
		},
	}
}

// secretOf is what of lsCall no agent may see; a response of OpenAI's repeats the
// names of the tools that were offered.
func secretOf(answer string) string {
	for _, s := range []string{"call_sesame", "opensesame"} {
		if strings.Contains(answer, s) {
			return s
		}
	}
	return ""
}

// everyDialect runs a test for each dialect, streamed and whole.
func everyDialect(t *testing.T, test func(t *testing.T, s speech, streamed bool)) {
	for _, s := range speeches {
		for _, streamed := range []bool{true, false} {
			t.Run(s.name+map[bool]string{true: " streamed", false: " whole"}[streamed], func(t *testing.T) {
				t.Parallel()
				test(t, s, streamed)
			})
		}
	}
}

func TestPromise1_NoLeak_InEveryDialect(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, askAll, lister().Reply)
		answer := make(chan string, 1)
		go func() { answer <- w.post(s.path, s.body(streamed), s.header...).rest() }()
		id := w.pending(1)[0].ID
		time.Sleep(200 * time.Millisecond) // a few heartbeats
		w.decide(id, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
		got := <-answer
		if found := secretOf(got); found != "" {
			t.Fatalf("%q reached the agent: %s", found, got)
		}
		if !strings.Contains(got, "Unde") {
			t.Fatalf("no continuation: %s\n%s", got, w.log.String())
		}
	})
}

func TestPromise2_NoDrift_InEveryDialect(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		var sent []byte
		model := lister()
		for _, policy := range []string{allowAll, askAll} {
			w := build(t, policy, func(r *fakemodel.Request) fakemodel.Reply {
				reply := model.Reply(r)
				sent = nil
				for _, write := range reply.Body {
					sent = append(sent, write.Bytes...)
				}
				return reply
			}, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
			answer := make(chan string, 1)
			go func() { answer <- w.post(s.path, s.body(streamed), s.header...).rest() }()
			if policy == askAll {
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
			}
			if got := <-answer; besideCalls(got) != besideCalls(string(sent)) || secretOf(got) == "" {
				t.Fatalf("%s: got\n%s\nwant\n%s", policy, besideCalls(got), besideCalls(string(sent)))
			}
			if asked := string(w.upstream.Requests()[0].Body); asked != s.body(streamed) {
				t.Errorf("upstream got %s", asked)
			}
		}
	})
}

var (
	numbers   = regexp.MustCompile(`"sequence_number":\d+`)
	callPaths = []string{"choices.0.message.tool_calls", `output.#(type=="function_call")`, `response.output.#(type=="function_call")`, `content.#(type=="tool_use")`}
)

// besideCalls is an answer without its call, which heldcall renders, and without the numbers of its events,
// which change with that.
func besideCalls(answer string) string {
	var b strings.Builder
	called := false // the last block that has begun is a call
	for _, event := range strings.SplitAfter(answer, "\n\n") {
		payload := event[strings.Index(event, "{")+1:]
		if payload != "" {
			payload = "{" + payload
		}
		if strings.Contains(event, "content_block_start") {
			called = strings.Contains(event, "tool_use")
		}
		piece := strings.Contains(event, `"delta":{"tool_calls"`) || strings.Contains(event, ".function_call_arguments.") || (called && strings.Contains(event, "content_block_"))
		if piece || gjson.Get(payload, "item.type").Str == "function_call" {
			continue
		}
		for _, path := range callPaths {
			if raw := gjson.Get(payload, path).Raw; raw != "" {
				event = strings.Replace(event, raw, "a call", 1)
			}
		}
		b.WriteString(numbers.ReplaceAllString(event, ""))
	}
	return b.String()
}

// A denial stays in the next request, also after a restart.
func TestPromise6_TrueTranscript_InEveryDialect(t *testing.T) {
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			goOnAfterDenial(t, s)
		})
	}
}

func goOnAfterDenial(t *testing.T, s speech) {
	dir := t.TempDir()
	model := lister()
	keep := func(c *app.Config) { embedded(c); c.NATS.Dir = dir }
	w := build(t, denyAll, model.Reply, keep)
	answer := w.post(s.path, s.body(false), s.header...).rest()
	if text := s.text(answer); !strings.Contains(text, "Let me look.") || !strings.Contains(text, "Understood.") {
		t.Fatalf("the agent read %q in %s\n%s", text, answer, w.log.String())
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w = build(t, denyAll, model.Reply, keep)
	c := w.post(s.path, s.next(answer), s.header...)
	got := c.rest()
	asked := string(last(w.upstream.Requests()).Body)
	if c.resp.StatusCode != http.StatusOK || !strings.Contains(s.text(got), "Going on.") {
		t.Fatalf("next: %d %s\nasked: %s", c.resp.StatusCode, got, asked)
	}
	if replays := !strings.Contains(asked, "previous_response_id"); replays && !strings.Contains(asked, "opensesame") {
		t.Errorf("the model no longer sees its denied call: %s", asked)
	}
}

func last(requests []*fakemodel.Request) *fakemodel.Request { return requests[len(requests)-1] }
