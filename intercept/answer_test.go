package intercept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/tidwall/gjson"
)

func toyStream(events ...string) (stream string) {
	for _, e := range events {
		stream += "data: " + e + "\n\n"
	}
	return stream
}

func toyCalls(name, id string, args ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"call":%q,"id":%q}`, name, id))
	for _, a := range args {
		events = append(events, fmt.Sprintf(`{"arg":%q,"id":%q}`, a, id))
	}
	return append(events, fmt.Sprintf(`{"done":true,"id":%q}`, id))
}

// TestAFourthDialect: a dialect costs a codec. What passes, is held, waits, is denied,
// edited and continued is decided for it.
func TestAFourthDialect(t *testing.T) {
	say, end := `{"say":"Hi."}`, `{"end":true}`
	free := toyCalls("pass", "p", `{"a"`, `:1}`)
	held := toyCalls("held", "h", `{"x"`, `:"secret"}`)
	all := append(append(append([]string{say}, free...), held...), say, end)
	rendered := append(append(toyCalls("pass", "p", `{"a":1}`), toyCalls("held", "h", `{"x":"secret"}`)...), say, end)
	for _, c := range []struct {
		name    string
		request toyRequest
		rule    intercepttest.Ruler
		events  []string
		before  string // what reaches the agent before the last ruling, as events
		after   string
		err     string
	}{
		{name: "text passes", events: []string{say, end}, rule: intercepttest.DenyAll, before: toyStream(say, end)},
		{name: "released", events: all, rule: intercepttest.ReleaseAll, before: toyStream(say), after: toyStream(rendered...)},
		{name: "text overtakes", request: toyRequest{overtakes: true}, events: all, rule: intercepttest.ReleaseAll, before: toyStream(say, say), after: toyStream(append(rendered[:6:6], end)...)},
		{name: "denied beside a released one", events: all, rule: func(n int, c intercept.Call) intercept.Ruling {
			return [...]intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.DenyAll}[n](n, c)
		}, before: toyStream(say), after: toyStream(append(rendered[:3:3], say, end)...)},
		{name: "edited", events: append(held[:len(held):len(held)], end), rule: intercepttest.EditAll, after: toyStream(append(toyCalls("held", "h", intercepttest.Edited), end)...)},
		{name: "aborted", events: append(held[:len(held):len(held)], end), rule: intercepttest.AbortAll, after: toyStream(`{"say":"Stopped."}`, end)},
		{name: "a withheld part holds the parts after it", events: []string{say, `{"wait":true}`, say, end}, rule: intercepttest.DenyAll, before: toyStream(say), after: toyStream(`{"wait":true}`, say, end)},
		{name: "an error voids the held parts", events: append(held[:2:2], `{"err":true}`), before: toyStream(`{"err":true}`)},
		{name: "goes on with a call after an error", events: append(free[:2:2], `{"err":true}`, `{"arg":"2","id":"p"}`), before: toyStream(`{"err":true}`), err: "an event of no call"},
		{name: "cut", events: held[:2], err: "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, sizes := range [][]byte{nil, {0}, {6, 40}} {
				p := intercepttest.Play(t, c.request, [][]byte{[]byte(toyStream(c.events...))}, sizes, intercept.Limits{}, c.rule)
				before := c.before
				if c.err != "" {
					if p.Err == nil || !strings.Contains(p.Err.Error(), c.err) {
						t.Fatalf("in blocks of %v: error %v", sizes, p.Err)
					}
					before += toyStream(`{"err":true}`)
				}
				if string(p.Before) != before || string(p.After) != c.after {
					t.Fatalf("in blocks of %v: before the ruling\n%safter it\n%s", sizes, p.Before, p.After)
				}
			}
		})
	}
}

func TestAFourthDialectGoesOnAfterDenials(t *testing.T) {
	first := toyStream(append(append([]string{`{"say":"Let me see."}`}, toyCalls("held", "h", "{}")...), `{"end":true}`)...)
	second := toyStream(`{"say":"Then not."}`, `{"end":true}`)
	p := intercepttest.Play(t, toyRequest{}, [][]byte{[]byte(first), []byte(second)}, nil, intercept.Limits{}, intercepttest.DenyAll)
	if want := toyStream(`{"say":"Let me see."}`, `{"say":"Then not."}`, `{"end":true}`); string(p.Out()) != want || len(p.Nexts) != 1 {
		t.Errorf("%v, %d continuations: %s", p.Err, len(p.Nexts), p.Out())
	}
	p = intercepttest.Play(t, toyRequest{}, [][]byte{[]byte(first)}, nil, intercept.Limits{MaxContinuations: 3}, intercepttest.DenyAll)
	if len(p.Nexts) != 3 || !strings.Contains(string(p.After), "denied 4 times in a row") {
		t.Errorf("%d continuations: %s", len(p.Nexts), p.After)
	}
}

// FuzzMayLeave: whatever events come in whatever order, the agent gets no byte of a
// call before it is ruled on; no byte of one that is denied; and of one that is released what was
// judged.
func FuzzMayLeave(f *testing.F) {
	for seed := range 40 {
		f.Add(fmt.Appendf(nil, "%d %d calls and words %d", seed*7919, seed, seed*31), []byte{byte(seed), 60}, byte(seed), byte(seed))
	}
	f.Fuzz(func(t *testing.T, script, sizes []byte, traits, rule byte) {
		request, limits := toyRequest{overtakes: traits&2 != 0}, intercept.Limits{}
		ruler := []intercepttest.Ruler{intercepttest.DenyAll, intercepttest.ReleaseAll, intercepttest.EditAll, intercepttest.Mixed, intercepttest.AbortAll}[rule%5]
		judged := make(map[string]string) // arguments of the calls that the agent may get
		stream := toyScript(script)
		p := intercepttest.Play(t, request, [][]byte{stream, []byte(toyStream(`{"end":true}`))}, sizes, limits, func(n int, c intercept.Call) intercept.Ruling {
			r := ruler(n, c)
			switch r.Action {
			case intercept.Release:
				judged[c.ID] = c.Arguments
			case intercept.Edit:
				judged[c.ID] = r.Arguments
			}
			return r
		})
		checkToy(t, p.Before, nil)
		checkToy(t, p.Out(), judged)
		one := intercepttest.Play(t, request, [][]byte{stream, []byte(toyStream(`{"end":true}`))}, nil, limits, ruler)
		intercepttest.CheckSame(t, one, p)
	})
}

// toyScript makes events of a script.
func toyScript(script []byte) []byte {
	var b strings.Builder
	id := 0
	for i, op := range script {
		var event string
		switch op % 16 {
		case 0, 1, 2:
			event = fmt.Sprintf(`{"say":"w%d"}`, i)
		case 3, 4, 5:
			id++
			event = fmt.Sprintf(`{"call":%q,"id":"%d"}`, [...]string{"held", "pass"}[op>>4&1], id)
		case 6:
			event = fmt.Sprintf(`{"arg":"{","id":"%d"}`, id)
		case 7, 8:
			event = fmt.Sprintf(`{"arg":"\"k%d\":%d","id":"%d"}`, i, i, id)
		case 9:
			event = fmt.Sprintf(`{"arg":"}","id":"%d"}`, id)
		case 10, 11, 12:
			event = fmt.Sprintf(`{"done":true,"id":"%d"}`, id)
		case 13:
			event = [...]string{`{"err":true}`, `{"say":"x"}`}[min(int(op>>5), 1)]
		case 14:
			event = `{"end":true}`
		default:
			event = fmt.Sprintf(`{"arg":"{}","id":"%d"}`, id)
		}
		b.WriteString("data: " + event + "\n" + [...]string{"\n", ""}[min(int(op>>4&3)/3*int(op&1), 1)])
	}
	return []byte(b.String() + "\n")
}

// checkToy reads what the agent got, and fails for a call that it must not have.
func checkToy(t *testing.T, got []byte, judged map[string]string) {
	t.Helper()
	names, args := make(map[string]string), make(map[string]string)
	var done []string
	for _, part := range intercepttest.Parts(got) {
		payloads, err := intercepttest.Payloads(part)
		if err != nil {
			t.Fatalf("the agent got a part that it cannot read: %v in %q", err, got)
		}
		for _, payload := range payloads {
			e := gjson.ParseBytes(payload)
			switch id := e.Get("id").Str; {
			case e.Get("call").Exists():
				names[id] = e.Get("call").Str
			case e.Get("arg").Exists():
				args[id] += e.Get("arg").Str
			case e.Get("done").Exists():
				done = append(done, id)
			}
		}
	}
	for id, name := range names {
		if _, released := judged[id]; !released {
			t.Fatalf("call %s of %s leaked: %q", id, name, got)
		}
	}
	for id := range args {
		if names[id] == "" {
			t.Fatalf("arguments of call %s leaked: %q", id, got)
		}
	}
	for _, id := range done {
		if want, released := judged[id]; released && args[id] != want {
			t.Fatalf("call %s has %q, judged was %q", id, args[id], want)
		}
	}
}
