package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// An answer with two edited calls is found in a history where its items are in the
// original order, with only outputs between them. Of two such places the first counts.
func TestWhereAnAnswerIsRepeated(t *testing.T) {
	const changed = `{"cmd":"x"}`
	text := func(text string) string { return `{"role":"assistant","content":"` + text + `"}` }
	output := func(id string) string {
		return `{"type":"function_call_output","call_id":"call_` + id + `","output":"x"}`
	}
	a, b, user := function("a", "bash", changed), function("b", "bash", changed), `{"role":"user","content":"Go on."}`
	for _, tt := range []struct {
		name    string
		history []string
		found   int
	}{
		{"in one row", []string{text("So."), a, b, output("a"), output("b")}, 1},
		{"without its text", []string{a, b, output("a"), output("b")}, 1},
		{"in rows", []string{text("So."), a, output("a"), b, output("b")}, 1},
		{"in rows, other answers around", []string{text("Earlier, at length."), user, text("So."), a, output("a"), b, output("b"), text("Done, at length.")}, 1},
		{"half of it", []string{text("So."), a, output("a")}, 0},
		{"in another order", []string{text("So."), b, output("b"), a, output("a")}, 0},
		{"the user between", []string{text("So."), a, output("a"), user, b, output("b")}, 0},
		{"the user and an output between", []string{text("So."), a, user, output("a"), b, output("b")}, 0},
		{"with a call more", []string{text("So."), a, b, function("c", "bash", changed), output("a")}, 0},
		{"twice", []string{text("So."), a, b, output("a"), user, text("So."), a, b, output("a")}, 1},
	} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
		p.Turn(stream("resp_1", message("msg_1", "So."), function("a", "bash", ls), function("b", "bash", ls)), func(int, intercept.Call) intercept.Ruling {
			return intercept.Ruling{Action: intercept.Edit, Arguments: changed, ModelMessage: "It was changed."}
		})
		items := gjson.Get(request1, "input").Array()
		history := []string{items[0].Raw, `{"role":"developer","content":"A reminder."}`}
		r := accepted(t, asked(`{"model":"m","input":[`+strings.Join(append(history, tt.history...), ",")+`]}`))
		if found := r.Splice(p.Last.Hidden); found != tt.found {
			t.Errorf("%s: found %d times: %s", tt.name, found, r.Envelope().Body)
		}
	}
}

// Finding 20: an answer of which the agent repeats a part is found where that is, if the
// ids in it are in no other conversation.
func TestWhereAPartOfAnAnswerIsRepeated(t *testing.T) {
	const first, second, third = "Vr3xkQ0pLm7bTz91", "Vr3xkQ0pLm7bTz92", "Vr3xkQ0pLm7bTz93"
	p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
	p.Turn(stream("resp_1", message("msg_1", "So."), function(first, "bash", ls), function(second, "read", ls), function(third, "read", ls)), func(n int, _ intercept.Call) intercept.Ruling {
		if n == 0 {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return intercept.Ruling{Action: intercept.Release}
	})
	for _, calls := range []string{function(second, "read", ls), function(third, "read", ls), function(third, "read", ls) + "," + function(second, "read", ls)} {
		r := accepted(t, asked(`{"model":"m","input":[{"role":"user","content":"another"},{"role":"assistant","content":"Rewritten."},`+calls+`]}`))
		if n := r.Splice(p.Last.Hidden); n != 1 || strings.Count(string(r.Envelope().Body), `"No."`) != 1 {
			t.Errorf("%s: found %d times: %s", calls, n, r.Envelope().Body)
		}
		if placed := r.Placements(); len(placed) != 1 || placed[0] != (intercept.Placement{Turn: "t1", Unique: true}) {
			t.Errorf("%s: placed %v", calls, placed)
		}
	}
}

// Finding 20: hidden items go before the answer's last message, also if the agent has
// rewritten the message.
func TestBeforeARewrittenAnswer(t *testing.T) {
	p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
	p.Turn(stream("resp_1", message("msg_1", "So."), function("a", "bash", ls)), func(int, intercept.Call) intercept.Ruling { return intercept.Ruling{ModelMessage: "No."} })
	p.Turn(stream("resp_2", message("msg_2", "Done.")), nil)
	first := gjson.Get(request1, "input.0").Raw
	r := accepted(t, asked(`{"model":"m","input":[`+first+`,{"role":"assistant","content":"[REDACTED]"},{"role":"user","content":"next"}]}`))
	r.Splice(p.Last.Hidden)
	var kinds []string
	for _, item := range gjson.GetBytes(r.Envelope().Body, "input").Array() {
		kinds = append(kinds, item.Get("role").Str+item.Get("type").Str)
	}
	if got := strings.Join(kinds, " "); got != "user function_call function_call_output assistant user" {
		t.Errorf("got %s: %s", got, r.Envelope().Body)
	}
}
