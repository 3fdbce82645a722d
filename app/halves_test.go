package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/scripted"
)

// TestHalvesOfACharacter: finding 19. A character that a server cuts between two deltas
// passes as text, byte for byte; in the arguments of a call it is not understood.
func TestHalvesOfACharacter(t *testing.T) {
	calls := false
	w := build(t, allowAll, func(r *scripted.Request) scripted.Reply {
		answer := scripted.Answer{Text: "ABCD", Fragment: 2}
		if calls {
			answer = scripted.Answer{Calls: []scripted.Call{{ID: "call_1", Name: "bash", Arguments: `{"x":"ABCD"}`}}, Fragment: 8}
		}
		reply := answer.Reply(r)
		for i, write := range reply.Body {
			if bytes.Contains(write.Bytes, []byte("ABCD")) {
				continue // the whole of it, at the end
			}
			cut := bytes.ReplaceAll(write.Bytes, []byte("AB"), []byte(`A\ud83d`))
			reply.Body[i].Bytes = bytes.ReplaceAll(cut, []byte("CD"), []byte(`\ude00D`))
		}
		return reply
	})
	for path, body := range dialectRequests {
		calls = false
		if got := w.post(path, body).rest(); !strings.Contains(got, `"A\ud83d"`) || !strings.Contains(got, `"\ude00D"`) || strings.Contains(got, "heldcall") {
			t.Errorf("%s: text: %s", path, got)
		}
		calls = true
		if got := w.post(path, body).rest(); !strings.Contains(got, "answer_not_understood") || strings.Contains(got, `\ud83d`) {
			t.Errorf("%s: arguments: %s", path, got)
		}
	}
}
