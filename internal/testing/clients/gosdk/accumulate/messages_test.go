package accumulate

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func FuzzMessages(f *testing.F) {
	api{
		dialect: messages.Dialect{},
		path:    "/messages",
		request: `{"model":"m","max_tokens":2048,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},` +
			`"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`,
		generate:   generateMessage,
		last:       string(fakemodel.Answer{ID: "msg_2", Text: "Very well."}.MessagesStream(nil).Bytes()),
		accumulate: accumulateMessage,
	}.fuzz(f)
}

// generateMessage: blocks of every kind that a model writes, pings between them.
func generateMessage(d *intercepttest.Dice) [][]byte {
	s := &fakemodel.MessagesStream{Usage: fakemodel.Usage{Prompt: 100, Completion: 1 + d.N(50)}, Fragment: 1 + d.N(9)}
	s.Begin()
	reason := "end_turn"
	for range d.N(8) {
		switch d.N(9) {
		case 0, 1:
			s.Text(d.Pick("Let me see.", "wörd\n", `"<&>"`))
		case 2:
			s.Thinking("hm ü")
		case 3:
			s.Block(`{"type":"redacted_thinking","data":"ZA=="}`)
		case 4:
			s.Block(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`)
			s.Block(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)
		case 5:
			s.Ping()
		default:
			s.ToolUse(d.Mark("I"), d.Pick("bash", "read_file"), marked(d, arguments(d)))
			reason = "tool_use"
		}
	}
	return s.End(d.Pick(reason, reason, reason, "max_tokens")).Events()
}

func accumulateMessage(stream io.Reader) (all seen) {
	events := ssestream.NewStream[anthropic.MessageStreamEventUnion](ssestream.NewDecoder(response(stream)), nil)
	var sum anthropic.Message
	for events.Next() {
		if err := sum.Accumulate(events.Current()); err != nil {
			all.err = fmt.Errorf("the accumulator refuses %s: %w", events.Current().RawJSON(), err)
			return all
		}
	}
	for _, block := range sum.Content {
		if block.Type == "tool_use" {
			all.calls = append(all.calls, call{block.ID, block.Name, string(block.Input)})
		}
	}
	message, err := json.Marshal(sum)
	if all.message = string(message) + sum.RawJSON(); err == nil {
		err = events.Err()
	}
	all.err = err
	return all
}
