package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// chunkOf is an event of Chat Completions for one choice.
func chunkOf(choice int, delta, finish string) string {
	return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`+"\n\n", choice, delta, finish)
}

// TestEarlyFinishReasons: W10. A gateway that gives a finish reason before the calls, or in every event: text passes at once,
// a denied call is continued, unless it is one of several choices, and an allowed one reaches the agent.
func TestEarlyFinishReasons(t *testing.T) {
	t.Parallel()
	const (
		call  = `{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"bash","arguments":"{\"command\":\"sesame\"}"}}]}`
		text  = `{"role":"assistant","content":"Let me look."}`
		after = `{"content":" Then."}`
		usage = `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}` + "\n\n"
		done  = "data: [DONE]\n\n"
	)
	const several = "reason of another choice"
	for name, tt := range map[string]struct{ before, rest string }{
		"stop before the call":       {chunkOf(0, text, "null"), chunkOf(0, "{}", `"stop"`) + chunkOf(0, call, "null") + usage + done},
		"stop in every event":        {chunkOf(0, text, `"stop"`) + chunkOf(0, call, `"stop"`) + chunkOf(0, after, `"stop"`), chunkOf(0, "{}", `"stop"`) + done},
		"tool_calls before the call": {chunkOf(0, text, "null"), chunkOf(0, "{}", `"tool_calls"`) + chunkOf(0, call, "null") + chunkOf(0, "{}", `"stop"`) + usage + done},
		"tool_calls in every event":  {chunkOf(0, text, `"tool_calls"`), chunkOf(0, call, `"tool_calls"`) + done},
		"empty reasons":              {chunkOf(0, text, `""`), chunkOf(0, call, `""`) + chunkOf(0, "{}", `"stop"`) + done},
		several:                      {chunkOf(0, text, "null") + chunkOf(1, `{"content":"b"}`, `"stop"`), chunkOf(0, call, "null") + chunkOf(1, "{}", `"tool_calls"`) + usage + done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, requests := "\n\nUnderstood.", 3
			if name == several {
				end, requests = "\n\n"+notice.CallsDenied(), 2
			}
			rest := make(chan struct{}, 1)
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
				if strings.Contains(string(r.Body), `"role":"tool"`) {
					return fakemodel.Events(fakemodel.Write{Bytes: []byte(strings.ReplaceAll(chunkOf(0, `{"content":"Understood."}`, `"stop"`)+chunkOf(0, "{}", `"stop"`)+usage+done, `"c1"`, `"c2"`))})
				}
				return fakemodel.Events(fakemodel.Write{Bytes: []byte(tt.before)}, fakemodel.Write{Bytes: []byte(tt.rest), Gate: rest})
			})
			for _, action := range []approvals.Action{approvals.ActionDeny, approvals.ActionApprove} {
				c := w.post("/v1/chat/completions", strings.Replace(streamedRequest, "do it", "do it, "+string(action), 1))
				late := time.AfterFunc(soon, c.cancel)
				got := c.until(contentOf(tt.before)[max(0, len(contentOf(tt.before))-5):]) // while upstream waits
				late.Stop()
				rest <- struct{}{}
				r := w.pending(1)[0]
				w.decide(r.ID, approvals.Decision{Action: action})
				got += c.rest()
				said := contentOf(got)
				switch {
				case action == approvals.ActionApprove:
					if strings.Count(got, "sesame") != 1 || strings.Contains(said, "Understood") {
						t.Errorf("approved, the agent got %s", got)
					}
				case strings.Contains(got, "sesame") || !strings.HasPrefix(said, "Let me look.") || !strings.HasSuffix(said, end):
					t.Errorf("denied, the agent got %s", got)
				}
				if strings.Count(got, "[DONE]") != 1 {
					t.Errorf("the answer ends more than once, or not: %s", got)
				}
			}
			if n := len(w.upstream.Requests()); n != requests {
				t.Errorf("upstream was asked %d times", n)
			}
		})
	}
}

// contentOf is the text of the first choice of a streamed answer, after every finish reason too.
func contentOf(stream string) (text string) {
	for line := range strings.Lines(stream) {
		payload, _ := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		text += gjson.Get(payload, `choices.#(index==0).delta.content`).String()
	}
	return text
}
