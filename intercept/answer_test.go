package intercept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
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
	byName := func(c intercept.Call) bool { return c.Name == "pass" }
	for _, c := range []struct {
		name    string
		request toyRequest
		pass    func(intercept.Call) bool
		rule    intercepttest.Ruler
		events  []string
		before  string // what reaches the agent before the last ruling, as events
		after   string
		err     string
	}{
		{name: "text passes", events: []string{say, end}, rule: intercepttest.DenyAll, before: toyStream(say, end)},
		{name: "released", events: all, rule: intercepttest.ReleaseAll, before: toyStream(say), after: toyStream(all[1:]...)},
		{name: "allowed by name", events: all, pass: byName, rule: intercepttest.ReleaseAll, before: toyStream(all[:5]...), after: toyStream(all[5:]...)},
		{name: "allowed by name after its next event", request: toyRequest{traits: intercept.Traits{Delays: true}}, events: all, pass: byName, rule: intercepttest.ReleaseAll, before: toyStream(all[:5]...), after: toyStream(all[5:]...)},
		{name: "text overtakes", request: toyRequest{overtakes: true}, events: all, pass: byName, rule: intercepttest.ReleaseAll, before: toyStream(append(all[:5:5], say)...), after: toyStream(append(held[:len(held):len(held)], end)...)},
		{name: "denied beside one that passed", events: all, pass: byName, rule: intercepttest.DenyAll, before: toyStream(all[:5]...), after: toyStream(say, end)},
		{name: "edited", events: append(held[:len(held):len(held)], end), rule: intercepttest.EditAll, after: toyStream(append(toyCalls("held", "h", intercepttest.Edited), end)...)},
		{name: "aborted", events: append(held[:len(held):len(held)], end), rule: intercepttest.AbortAll, after: toyStream(`{"say":"Stopped."}`, end)},
		{name: "odd, so canonical", events: []string{held[0], `{"arg":"{}","id":"h","odd":true}`, held[3], end}, rule: intercepttest.ReleaseAll, after: toyStream(append(toyCalls("held", "h", "{}"), end)...)},
		{name: "odd at its next event", request: toyRequest{traits: intercept.Traits{Delays: true}}, events: []string{free[0], `{"arg":"{}","id":"p","odd":true}`, free[3], end}, pass: byName, rule: intercepttest.ReleaseAll, after: toyStream(append(toyCalls("pass", "p", "{}"), end)...)},
		{name: "text while a call waits for its next event", request: toyRequest{traits: intercept.Traits{Delays: true}}, events: append(append([]string{free[0], say}, free[1:]...), end), pass: byName, rule: intercepttest.ReleaseAll, before: toyStream(append(append([]string{free[0], say}, free[1:]...), end)...)},
		{name: "odd, but it can continue", request: toyRequest{traits: intercept.Traits{Resumes: true}}, events: []string{free[0], `{"arg":"{}","id":"p","odd":true}`, free[3], end}, pass: byName, rule: intercepttest.ReleaseAll, before: toyStream(free[0], `{"arg":"{}","id":"p","odd":true}`, free[3], end)},
		{name: "a withheld part holds the parts after it", events: []string{say, `{"wait":true}`, say, end}, rule: intercepttest.DenyAll, before: toyStream(say), after: toyStream(`{"wait":true}`, say, end)},
		{name: "odd after its beginning has passed", events: []string{free[0], `{"arg":"{}","id":"p","odd":true}`}, pass: byName, before: toyStream(free[0]), err: "continues in a form that clients read in different ways"},
		{name: "not JSON after its beginning has passed", events: append(toyCalls("pass", "p", "{", "]"), end), pass: byName, rule: intercepttest.DenyAll, before: toyStream(free[0], `{"arg":"{","id":"p"}`), err: "was not released, after its beginning had passed"},
		{name: "an error voids the held parts", events: append(held[:2:2], `{"err":true}`), before: toyStream(`{"err":true}`)},
		{name: "goes on with a call after an error", events: append(toyCalls("pass", "p", "{", "1")[:2], `{"err":true}`, `{"arg":"2","id":"p"}`), pass: byName, before: toyStream(free[0], `{"arg":"{","id":"p"}`, `{"err":true}`), err: "an error and a call in one event"},
		{name: "cut", events: held[:2], err: "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, sizes := range [][]byte{nil, {0}, {6, 40}} {
				p := intercepttest.Play(t, c.request, [][]byte{[]byte(toyStream(c.events...))}, sizes, intercept.Limits{Pass: c.pass}, c.rule)
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
// call before it is ruled on, but of those that are allowed by name; no byte of one that
// is denied; and of one that is released what was judged.
func FuzzMayLeave(f *testing.F) {
	for seed := range 40 {
		f.Add(fmt.Appendf(nil, "%d %d calls and words %d", seed*7919, seed, seed*31), []byte{byte(seed), 60}, byte(seed), byte(seed))
	}
	f.Fuzz(func(t *testing.T, script, sizes []byte, traits, rule byte) {
		request := toyRequest{traits: intercept.Traits{Resumes: false, Delays: traits&1 != 0}, overtakes: traits&2 != 0}
		limits := intercept.Limits{}
		if traits&4 != 0 {
			limits.Pass = func(c intercept.Call) bool { return strings.HasPrefix(c.Name, "pass") }
		}
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
		checkToy(t, p.Before, nil, limits.Pass != nil)
		checkToy(t, p.Out(), judged, limits.Pass != nil)
		one := intercepttest.Play(t, request, [][]byte{stream, []byte(toyStream(`{"end":true}`))}, nil, limits, ruler)
		intercepttest.CheckSame(t, one, p)
	})
}

// toyScript makes events of a script.
func toyScript(script []byte) []byte {
	var b strings.Builder
	id := 0
	for i, op := range script {
		odd := [...]string{"", `,"odd":true`}[op>>7]
		var event string
		switch op % 16 {
		case 0, 1, 2:
			event = fmt.Sprintf(`{"say":"w%d"}`, i)
		case 3, 4, 5:
			id++
			event = fmt.Sprintf(`{"call":%q,"id":"%d"%s}`, [...]string{"held", "pass"}[op>>4&1], id, odd)
		case 6:
			event = fmt.Sprintf(`{"arg":"{","id":"%d"%s}`, id, odd)
		case 7, 8:
			event = fmt.Sprintf(`{"arg":"\"k%d\":%d","id":"%d"%s}`, i, i, id, odd)
		case 9:
			event = fmt.Sprintf(`{"arg":"}","id":"%d"%s}`, id, odd)
		case 10, 11, 12:
			event = fmt.Sprintf(`{"done":true,"id":"%d"%s}`, id, odd)
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
func checkToy(t *testing.T, got []byte, judged map[string]string, byName bool) {
	t.Helper()
	names, args := make(map[string]string), make(map[string]string)
	var done []string
	for _, part := range intercepttest.Parts(got) {
		payloads, err := intercept.Payloads(part)
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
		if _, released := judged[id]; !released && !(byName && strings.HasPrefix(name, "pass")) {
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
		if _, released := judged[id]; !released && strictjson.Strict([]byte(args[id])) != nil {
			t.Fatalf("call %s passed by its name with %q", id, args[id])
		}
	}
}
