package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// LangChain for Python counts the items of its message by changes of the item that
// events are about. A fragment after an event of another item is of no call there, and
// it runs the call with the arguments before: {"command":"rm -rf /"} instead of
// {"command":"rm -rf /tmp/junk"}.
func TestFragmentsThatAlternateWithAnotherItem(t *testing.T) {
	const args = `{"command":"rm -rf /tmp/junk"}`
	text := `"item_id":"msg_1","output_index":0,"content_index":0,"delta":"x","logprobs":[]`
	for name, between := range map[string]func(*script){
		"text of an item that is done": func(s *script) { s.event("response.output_text.delta", text) },
		"text of no item":              func(s *script) { s.event("response.output_text.delta", strings.Replace(text, ":0", ":7", 1)) },
		"text of no item, by its id": func(s *script) {
			s.event("response.output_text.delta", strings.Replace(text, `"output_index":0,`, "", 1))
		},
		"two texts, of which the second is of a known shape": func(s *script) {
			s.event("response.output_text.delta", text).event("response.output_text.delta", text)
		},
		"another item": func(s *script) {
			s.event("response.output_item.added", `"output_index":2,"item":{"id":"msg_2","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
		},
	} {
		s := newScript("resp_1").begin().item(speech)
		of := `"item_id":"fc_a","output_index":1`
		call := function("a", "bash", args)
		began := strings.NewReplacer(strictjson.Quote(args), `""`, `"completed"`, `"in_progress"`).Replace(call)
		s.event("response.output_item.added", `"output_index":1,"item":`+began)
		for _, piece := range []string{`{"com`, `mand":"rm -rf`, ` /`} {
			s.event("response.function_call_arguments.delta", of+`,"delta":`+strictjson.Quote(piece))
		}
		between(s)
		for _, piece := range []string{`tmp/`, `junk`, `"}`} {
			s.event("response.function_call_arguments.delta", of+`,"delta":`+strictjson.Quote(piece))
		}
		s.event("response.function_call_arguments.done", of+`,"arguments":`+strictjson.Quote(args))
		s.event("response.output_item.done", `"output_index":1,"item":`+call)
		s.items = append(s.items, call)
		body := s.end()

		p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil || len(p.Calls[0]) != 1 {
			t.Fatalf("%s: error %v, calls %+v", name, p.Err, p.Calls)
		}
		deltas := 0
		for _, part := range intercepttest.Parts(p.Out()) {
			if strings.Contains(string(part), "function_call_arguments.delta") {
				deltas++
			}
		}
		if deltas != 1 {
			t.Errorf("%s: the arguments come in %d events:\n%s", name, deltas, p.Out())
		}
		checkRead(t, p.Out(), p.Calls[0]...)
	}
}

// LangChain for Python counts items by the number that came with their id first: a call
// with the id of another item there is the same item, and its fragments go to the call
// before. The call itself runs without arguments.
func TestCallWithTheIDOfAnotherItem(t *testing.T) {
	for name, body := range map[string]string{
		"in an event about no item": func() string {
			s := newScript("resp_1").begin()
			s.event("response.output_text.delta", `"item_id":"fc_b","output_index":0,"content_index":0,"delta":"x","logprobs":[]`)
			return s.item(function("a", "read", `{"path":"x"}`)).item(function("b", "bash", ls)).end()
		}(),
	} {
		p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil || len(p.Calls[0]) != 2 {
			t.Fatalf("%s: error %v, calls %+v", name, p.Err, p.Calls)
		}
		if out := string(p.Out()); strings.Contains(out, `"item_id":"fc_b","output_index":2`) || strings.Contains(out, `"item_id":"fc_b","output_index":1`) {
			t.Errorf("%s: the agent has\n%s", name, out)
		}
		checkRead(t, p.Out(), p.Calls[0]...)
	}
}
