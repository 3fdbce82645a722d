package app_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// halved answers with the text ABCD, or with calls a call that has it in its arguments.
// The deltas end and begin with the given texts in place of AB and CD, and what shows all
// of it has whole in its place.
func halved(calls bool, end, begin, whole string) func(*fakemodel.Request) fakemodel.Reply {
	return func(r *fakemodel.Request) fakemodel.Reply {
		answer := fakemodel.Answer{Text: "ABCD", Fragment: 2}
		if calls {
			answer = fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"x":"ABCD"}`}}, Fragment: 8}
		}
		reply := answer.Reply(r)
		for i, write := range reply.Body {
			if bytes.Contains(write.Bytes, []byte("ABCD")) {
				reply.Body[i].Bytes = bytes.ReplaceAll(write.Bytes, []byte("ABCD"), []byte(whole))
				continue
			}
			cut := bytes.ReplaceAll(write.Bytes, []byte("AB"), []byte(end))
			reply.Body[i].Bytes = bytes.ReplaceAll(cut, []byte("CD"), []byte(begin))
		}
		return reply
	}
}

// TestHalvesOfACharacter: finding 19. A character that a server cuts between two deltas
// passes as text, byte for byte. In the arguments of a call its halves are joined: people
// and the agent get the character. A half that stays alone is doubted.
func TestHalvesOfACharacter(t *testing.T) {
	t.Parallel()
	const judged, first, second = `{"x":"A😀D"}`, `\ud83d`, `\ude00`
	for path, body := range dialectRequests {
		t.Run(path[len("/v1/"):], func(t *testing.T) {
			w := build(t, allowAll, halved(false, "A"+first, second+"D", "A😀D"))
			if got := w.post(path, body).rest(); !strings.Contains(got, `"A\ud83d"`) || !strings.Contains(got, `"\ude00D"`) || strings.Contains(got, "heldcall") {
				t.Errorf("text: %s", got)
			}
			joined := func(got string) bool {
				return strings.Contains(got, "😀") && !strings.Contains(got, `\ud`) && !strings.Contains(got, "heldcall")
			}
			w = build(t, allowArguments, halved(true, "A"+first, second+"D", "A😀D"))
			if got := w.post(path, body).rest(); !joined(got) {
				t.Errorf("allowed by its arguments, the agent got %s", got)
			}
			w = build(t, askAll, halved(true, "A"+first, second+"D", "A😀D"))
			agent := w.post(path, body)
			asked := w.pending(1)[0]
			if string(asked.Arguments) != judged || len(asked.Details.Doubts) > 0 {
				t.Errorf("people are shown %s with %+v", asked.Arguments, asked.Details)
			}
			w.decide(asked.ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := agent.rest(); !joined(got) {
				t.Errorf("approved, the agent got %s", got)
			}
			w = build(t, allowArguments, halved(true, "A"+first, "D", "A\uFFFDD"))
			agent = w.post(path, body)
			asked = w.pending(1)[0]
			if !slices.Contains(asked.Details.Doubts, intercept.AmbiguousHalf) || string(asked.Arguments) != "{\"x\":\"A\uFFFDD\"}" {
				t.Errorf("people are shown %s with %+v", asked.Arguments, asked.Details)
			}
			w.decide(asked.ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := agent.rest(); !strings.Contains(got, "A\uFFFDD") || strings.Contains(got, `\ud`) {
				t.Errorf("approved, the agent got %s", got)
			}
			// Whatever its arguments, the call passes with the halves joined.
			w = build(t, "profiles: none\nrules:\n  - allow: [bash]\n", halved(true, "A"+first, second+"D", "A😀D"))
			if got := w.post(path, body).rest(); !joined(got) {
				t.Errorf("allowed by its name, the agent got %s", got)
			}
		})
	}
}
