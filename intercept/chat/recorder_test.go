package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Ids and texts repeat: a hidden turn goes to the place of its answer. If that is not
// certain, it goes nowhere.
func TestSpliceWhereIdsRepeat(t *testing.T) {
	p := play(t, `{"messages":[{"role":"user","content":"second"}]}`, bodies(role+opening(0, "call_0", "x", "{}")+opening(1, "call_1", "y", "{}")+finish+done), nil, intercept.Limits{}, func(n int, _ intercept.Call) intercept.Ruling {
		return intercept.Ruling{Action: intercept.Action(1 - n), ModelMessage: "No."} // release, deny
	})
	turn := `{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0","content":"ok"}`
	first, second, changed := `{"role":"user","content":"first"},`+turn, `{"role":"user","content":"second"},`+turn, `{"role":"user","content":"second, changed"},`+turn
	for _, tt := range []struct {
		name, history string
		want          int // the turn with the denial, 0 for none
	}{
		{"the second of two", first + "," + second, 1},
		{"the only one, after a changed message", `{"role":"user","content":"second"},{"role":"user","content":"changed"},` + turn, 1},
		{"the only one, in a conversation with another opening", changed, 0},
		{"in place, with another input", strings.Replace(second, `"{}"`, `"{\"n\":1}"`, 1), 0},
		{"in place, with an input in other white space", strings.Replace(second, `"{}"`, `" { } "`, 1), 1},
		{"one of two, after a changed message", first + "," + changed, 0},
	} {
		r, err := parseRequest(asked(`{"messages":[` + tt.history + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Splice(p.Hidden); n != tt.want {
			t.Errorf("%s: %d spliced", tt.name, n)
			continue
		}
		if before, after, found := strings.Cut(string(r.Envelope().Body), `"content":"No."`); found != (tt.want > 0) || strings.Contains(after, "second") || (found && !strings.Contains(before, "second")) {
			t.Errorf("%s: spliced %s", tt.name, r.Envelope().Body)
		}
	}
}

// A denied function_call beside a released tool call, and the reverse, leave a
// history that providers accept.
func TestSpliceOfBothForms(t *testing.T) {
	body := delta(0, `{"role":"assistant","tool_calls":[`+fn(`"index":0,"id":"a"`, "x", "{}")+`],"function_call":{"name":"y","arguments":"{}"}}`) + end
	for n, echo := range []string{
		`{"role":"assistant","content":null,"function_call":{"name":"y","arguments":"{}"}}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}`,
	} {
		p := play(t, request1, bodies(body), nil, intercept.Limits{}, func(i int, _ intercept.Call) intercept.Ruling {
			if i == n {
				return intercept.Ruling{ModelMessage: "No."}
			}
			return intercept.Ruling{Action: intercept.Release}
		})
		r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},` + echo + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if r.Splice(p.Hidden) != 1 || strings.Count(string(r.Envelope().Body), `"content":"No."`) != 1 {
			t.Errorf("call %d denied: spliced %s", n, r.Envelope().Body)
		}
	}
}

// Finding 20: an agent that has rewritten the text beside a call, or added or dropped
// another call, keeps its own text and calls; the denied call goes beside them.
func TestSpliceIntoARewrittenMessage(t *testing.T) {
	const own = "call_Vr3xkQ0pLm7bTz91"
	p := play(t, `{"messages":[{"role":"user","content":"hi"}]}`, bodies(role+opening(0, own, "x", "{}")+opening(1, "b", "y", "{}")+opening(2, "call_Vr3xkQ0pLm7bTz92", "x", "{}")+finish+done), nil, intercept.Limits{}, func(n int, _ intercept.Call) intercept.Ruling {
		if n == 1 {
			return intercept.Ruling{ModelMessage: "No."}
		}
		return intercept.Ruling{Action: intercept.Release}
	})
	entry := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"x","arguments":"{}"}}`
	}
	const denied = `{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}`
	const no = `{"role":"tool","tool_call_id":"b","content":"No."}`
	result := `{"role":"tool","tool_call_id":"` + own + `","content":"data"}`
	for calls, want := range map[string]string{
		entry(own): entry(own) + "," + denied,
		entry("call_Vr3xkQ0pLm7bTz92") + "," + entry(own):                           entry("call_Vr3xkQ0pLm7bTz92") + "," + entry(own) + "," + denied,
		entry(own) + "," + entry("call_Vr3xkQ0pLm7bTz92"):                           entry(own) + "," + denied + "," + entry("call_Vr3xkQ0pLm7bTz92"),
		entry(own) + "," + entry("call_Vr3xkQ0pLm7bTz92") + "," + entry("call_new"): entry(own) + "," + entry("call_Vr3xkQ0pLm7bTz92") + "," + entry("call_new") + "," + denied,
	} {
		r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"other"},{"role":"assistant","content":"[REDACTED]","tool_calls":[` + calls + `]},` + result + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Splice(p.Hidden)
		wanted := `{"messages":[{"role":"user","content":"other"},{"role":"assistant","content":"[REDACTED]","tool_calls":[` + want + `]},` + no + `,` + result + `]}`
		if got := string(r.Envelope().Body); got != wanted {
			t.Errorf("got  %s\nwant %s", got, wanted)
		}
	}
}
