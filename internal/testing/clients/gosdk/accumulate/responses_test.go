package accumulate

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	dialect "github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const responsesRequest = `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},` +
	`"input":[{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}},` +
	`{"type":"custom","name":"exec"},{"type":"local_shell"},{"type":"apply_patch"}]}`

func FuzzResponses(f *testing.F) {
	api{
		dialect:    dialect.Dialect{},
		path:       "/responses",
		request:    responsesRequest,
		generate:   generateResponse,
		last:       string(fakemodel.Answer{ID: "resp_2", Text: "Very well."}.ResponsesStream([]byte(responsesRequest)).Bytes()),
		accumulate: accumulateResponse,
		blank:      []string{"local_shell", "apply_patch"},
	}.fuzz(f)
}

// generateResponse: items of every kind that a model writes, keepalives between
// them.
func generateResponse(d *intercepttest.Dice) [][]byte {
	s := &fakemodel.ResponsesStream{Request: []byte(responsesRequest), Fragment: 1 + d.N(9)}
	s.Begin()
	for range d.N(8) {
		switch d.N(12) {
		case 0, 1:
			s.Item(`{"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":` +
				d.Pick(`"Let me see."`, `"wörd\n"`, `"\"<&>\""`) + `}]}`)
		case 2:
			s.Item(`{"type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"I won't."}]}`)
		case 3:
			s.Item(`{"type":"reasoning","encrypted_content":"","summary":[{"type":"summary_text","text":"hm ü"}]}`)
		case 4:
			s.Item(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}`)
		case 5:
			s.Keepalive()
		case 6:
			s.Item(fmt.Sprintf(`{"type":"custom_tool_call","status":"completed","call_id":%q,"name":"exec","input":%q}`, d.Mark("I"), d.Mark("A")))
		case 7:
			s.Item(fmt.Sprintf(`{"type":"local_shell_call","status":"completed","call_id":%q,"action":{"type":"exec","command":["ls",%q],"env":{}}}`, d.Mark("I"), d.Mark("A")))
		case 8:
			s.Item(fmt.Sprintf(`{"type":"apply_patch_call","status":"completed","call_id":%q,"operation":{"type":"update_file","path":"x","diff":%q}}`, d.Mark("I"), d.Mark("A")))
		default:
			s.Item(fmt.Sprintf(`{"type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%s}`,
				d.Mark("I"), d.Pick("bash", "read_file"), strictjson.Quote(marked(d, arguments(d)))))
		}
	}
	if usage := (fakemodel.Usage{Prompt: 100, Completion: 1 + d.N(50)}); d.N(5) == 0 {
		s.Incomplete("max_output_tokens", usage)
	} else {
		s.Complete(usage)
	}
	return s.Events()
}

// accumulateResponse reads an answer twice: by its events, and by the event that closes a
// response, which repeats all of it.
func accumulateResponse(stream io.Reader) (all seen) {
	events := ssestream.NewStream[responses.ResponsesServerEventUnion](ssestream.NewDecoder(response(stream)), nil)
	var sum responses.ResponseAccumulator
	var streamed responses.ResponseAccumulatorSnapshot
	for events.Next() {
		event := events.Current()
		switch event.Type {
		case "response.completed", "response.incomplete", "response.failed":
			streamed = sum.Snapshot()
		}
		if err := sum.AddEvent(event); err != nil {
			all.err = fmt.Errorf("the accumulator refuses %s: %w", event.RawJSON(), err)
			return all
		}
	}
	closing := sum.Snapshot()
	all.calls = callsOf(closing)
	all.message = fmt.Sprintf("%+v\n%+v\n", streamed, closing)
	whole, err := sum.ReconstructedResponse()
	if err != nil {
		all.err = err
		return all
	}
	all.message += whole.RawJSON()
	if all.err = events.Err(); !slices.Equal(callsOf(streamed), all.calls) {
		all.err = fmt.Errorf("the response closes with the calls %q, its events were of %q", all.calls, callsOf(streamed))
	}
	return all
}

func callsOf(snapshot responses.ResponseAccumulatorSnapshot) (calls []call) {
	for _, item := range snapshot.Output {
		if item.CallID != "" {
			calls = append(calls, call{item.CallID, item.Name, item.Arguments + item.Input})
		}
	}
	return calls
}
