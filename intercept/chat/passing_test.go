package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
)

// Section "Solve the class" of finding H1: a call that is allowed by its name alone
// and turns doubtful on its way is held, asked about, and cut where it is denied.
func TestAllowedByNameTurnsDoubtful(t *testing.T) {
	pass := func(intercept.Call) bool { return true }
	opens, piece := opening(0, "a", "x", ""), more(0, `{"c":`)
	for _, tt := range []struct{ name, body, passed string }{
		{"cut by length", role + opens + piece + event("{}", "length") + done, role + opens + piece},
		{"cut by length after whole arguments", role + opens + more(0, "{}") + event("{}", "length") + done, role + opens + more(0, "{}")},
		{"cut in its first event", role + event(callList(fn(`"index":0,"id":"a"`, "x", `{"c":`)), "length") + done, role},
		{"ends before its arguments do", role + opens + piece + finish + done, role + opens + piece},
		{"ends without a finish reason", role + opens + piece + done, role + opens + piece},
		{"the next call opens", role + opens + piece + opening(1, "b", "y", "{}") + finish + done, role + opens + piece},
		{"the next call has its id", role + opening(0, "a", "x", "{}") + opening(1, "a", "y", "{}") + finish + done, role + opening(0, "a", "x", "{}")},
		{"not strict JSON", role + opens + more(0, `{"c":1,"c":2}`) + finish + done, role + opens},
		{"not an object", role + opens + more(0, `[1]`) + finish + done, role + opens},
	} {
		for _, n := range blocks {
			p := newPlayer(t, request1, n, intercept.Limits{Pass: pass})
			if err := p.Feed(tt.body); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if d := cmp.Diff(tt.passed, p.Got.String()); d != "" {
				t.Fatalf("%s: passed (-want +got):\n%s", tt.name, d)
			}
			calls := p.Answer.Calls()
			if len(calls) == 0 || len(calls[0].Ambiguous) == 0 {
				t.Fatalf("%s: asked about %+v", tt.name, calls)
			}
			var rulings []intercept.Ruling
			for range calls {
				rulings = append(rulings, intercept.Ruling{Action: intercept.Release})
			}
			if s, err := p.Answer.Resolve(rulings); err != nil || p.Got.String()+string(s.Bytes) != tt.body {
				t.Errorf("%s: released %s, %v", tt.name, s.Bytes, err)
			}
		}
		if tt.passed == role {
			continue
		}
		p := newPlayer(t, request1, 1<<20, intercept.Limits{Pass: pass})
		if err := p.Feed(tt.body); err != nil {
			t.Fatal(err)
		}
		if s, err := p.Answer.Resolve(make([]intercept.Ruling, len(p.Answer.Calls()))); err == nil {
			t.Errorf("%s: denied after its beginning, the agent gets %s", tt.name, s.Bytes)
		}
	}
}

// Section "Solve the class" of finding H1: the opening of a call that is allowed by
// its name alone must be uniform, or the whole call is held.
func TestAllowedByNameOpensUniformly(t *testing.T) {
	for _, odd := range []string{
		entries(`{"index":0,"id":"a","x":1,"type":"function","function":{"name":"bash","arguments":""}}`),
		entries(`{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"","__proto__":{}}}`),
		replacedAll(opening(0, "a", "bash", ""), `"c1"`, `"c9"`), "event: thread.x\n" + opening(0, "a", "bash", ""), opening(1, "a", "bash", ""),
	} {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{Pass: func(intercept.Call) bool { return true }})
		p.Turn(role+odd+entries(part("", "{}"))+finish+done, release)
		if d := cmp.Diff(role+opening(0, "a", "bash", "{}")+finish+done, p.Got.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", odd, d)
		}
	}
}
