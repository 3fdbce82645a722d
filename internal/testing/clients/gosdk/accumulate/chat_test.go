package accumulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func FuzzChat(f *testing.F) {
	api{
		dialect: chat.Dialect{},
		path:    "/chat/completions",
		request: `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],` +
			`"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]}`,
		generate:   generateChat,
		last:       string(fakemodel.Answer{ID: "chatcmpl-2", Text: "Very well."}.Stream(true).Bytes()),
		accumulate: accumulateChat,
		empty:      noArguments,
	}.fuzz(f)
}

// generateChat: one choice or two that take turns, with calls whose fragments do.
func generateChat(d *intercepttest.Dice) [][]byte {
	s := &fakemodel.Stream{IncludeUsage: d.N(3) > 0}
	calls := make([]int, 1+d.N(4)/2)
	for i := range calls {
		if s.Choice(i); d.N(4) > 0 {
			s.Role()
		}
	}
	for range d.N(20) {
		i := d.N(len(calls))
		s.Choice(i)
		switch throw := d.N(7); {
		case throw == 0:
			s.Text(d.Pick("word ", "wörd\n", `"<&>"`))
		case throw == 1:
			s.Reasoning("hm ")
		case throw == 2 || calls[i] == 0:
			s.Call(calls[i], d.Mark("I"), d.Pick("bash", "read_file"))
			if calls[i]++; d.N(3) == 0 {
				s.Arguments(calls[i]-1, marked(d, arguments(d)))
			}
		default:
			s.Arguments(d.N(calls[i]), d.Pick(`{"m":`, `"é`, d.Mark("A"), "}", " "))
		}
	}
	for i, n := range calls {
		reason := "stop"
		if n > 0 {
			reason = d.Pick("tool_calls", "tool_calls", "stop", "length")
		}
		s.Choice(i).Finish(reason)
	}
	if s.IncludeUsage {
		s.Usage(fakemodel.Usage{Prompt: 100, Completion: 1 + d.N(50)})
	}
	if d.N(4) > 0 {
		s.Done()
	}
	return s.Events()
}

// noArguments is how heldcall writes a call without arguments in canonical form.
const noArguments = "{}"

func accumulateChat(stream io.Reader) (all seen) {
	chunks := ssestream.NewStream[openai.ChatCompletionChunk](ssestream.NewDecoder(response(stream)), nil)
	var sum openai.ChatCompletionAccumulator
	for chunks.Next() {
		if !sum.AddChunk(chunks.Current()) {
			all.err = fmt.Errorf("the accumulator refuses %s", chunks.Current().RawJSON())
			return all
		}
	}
	for _, choice := range sum.Choices {
		for i := range choice.Message.ToolCalls {
			c := &choice.Message.ToolCalls[i]
			c.Function.Arguments = cmp.Or(c.Function.Arguments, noArguments)
			all.calls = append(all.calls, call{c.ID, c.Function.Name, c.Function.Arguments})
		}
	}
	message, err := json.Marshal(sum.ChatCompletion)
	if all.message = string(message); err == nil {
		err = chunks.Err()
	}
	all.err = err
	return all
}
