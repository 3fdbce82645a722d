//go:build conformance

package conformance_test

import (
	"net/http"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestConformanceFindsWhatPassesUnheld is the control of the judges: without
// heldcall every outcome but the unchanged ones must be found wrong.
func TestConformanceFindsWhatPassesUnheld(t *testing.T) {
	answer := fakemodel.Answer{
		Reasoning: "Hm.", Text: "Wait.",
		Calls: []fakemodel.Call{{ID: "call_a", Name: "remove", Arguments: `{"path":"/tmp/a"}`}, {ID: "call_b", Name: "create", Arguments: `{"path":"/tmp/b"}`}},
		Usage: fakemodel.Usage{Prompt: 3, Completion: 4},
	}
	responses := answer.ResponsesStream([]byte(`{"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]}`))
	messages := answer.MessagesStream([]byte(`{"thinking":{"type":"adaptive"}}`))
	streamed, whole := http.Header{"Content-Type": {"text/event-stream"}}, http.Header{"Content-Type": {"application/json"}}
	u := startUpstream(t)
	a := newAgent()
	defer a.client.CloseIdleConnections()
	for _, e := range []cassettes.Exchange{
		{File: "chat, streamed", Dialect: cassettes.Chat, Streamed: true, Body: answer.Stream(true).Bytes(), Header: streamed},
		{File: "chat, whole", Dialect: cassettes.Chat, Body: answer.Whole(), Header: whole},
		{File: "responses, streamed", Dialect: cassettes.Responses, Streamed: true, Body: responses.Bytes(), Header: streamed},
		{File: "responses, whole", Dialect: cassettes.Responses, Body: responses.Whole(), Header: whole},
		{File: "messages, streamed", Dialect: cassettes.Messages, Streamed: true, Body: messages.Bytes(), Header: streamed},
		{File: "messages, whole", Dialect: cassettes.Messages, Body: messages.Whole(), Header: whole},
	} {
		e.Status = http.StatusOK
		for _, o := range outcomes {
			if why := inapplicable(e, o); why != "" {
				continue
			}
			for _, h := range habits(e) {
				for _, m := range []cassettes.Mode{cassettes.EventByEvent, cassettes.InOnePiece} {
					x := newTrial(e, o, h, m)
					x.run(a, "http://"+u.Addr(), u)
					right := len(x.problems) == 0
					if want := o == allowed || o == approved; right != want {
						t.Errorf("%s, %s, %s, cut %s: right %t, want %t: %q", e.File, o, h, m, right, want, x.problems)
					}
				}
			}
		}
	}
}
