package conformance_test

import (
	"net/http"
	"testing"

	"github.com/heldcall/heldcall/internal/recorded"
	"github.com/heldcall/heldcall/internal/scripted"
)

// TestConformanceFindsWhatPassesUnheld is the control of the judges: without
// heldcall every outcome but the unchanged ones must be found wrong.
func TestConformanceFindsWhatPassesUnheld(t *testing.T) {
	answer := scripted.Answer{
		Text:  "Wait.",
		Calls: []scripted.Call{{ID: "call_a", Name: "remove", Arguments: `{"path":"/tmp/a"}`}, {ID: "call_b", Name: "create", Arguments: `{"path":"/tmp/b"}`}},
		Usage: scripted.Usage{Prompt: 3, Completion: 4},
	}
	exchanges := []recorded.Exchange{
		{File: "streamed", Streamed: true, Body: answer.Stream(true).Bytes(), Header: http.Header{"Content-Type": {"text/event-stream"}}},
		{File: "whole", Body: answer.Whole(), Header: http.Header{"Content-Type": {"application/json"}}},
	}
	u := startUpstream(t)
	a := newAgent()
	defer a.client.CloseIdleConnections()
	for _, e := range exchanges {
		e.Status, e.Dialect = http.StatusOK, recorded.Chat
		for _, o := range outcomes {
			if why := inapplicable(e, o); why != "" {
				continue
			}
			for _, m := range recorded.Modes {
				x := newTrial(e, o, m)
				x.run(a, "http://"+u.Addr(), u)
				right := len(x.problems) == 0
				if want := o == allowed || o == approved; right != want {
					t.Errorf("%s, %s, cut %s: right %t, want %t: %q", e.Name(), o, m, right, want, x.problems)
				}
			}
		}
	}
}
