package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

func TestMostWithin(t *testing.T) {
	for _, c := range []struct {
		times  []float64
		length float64
		want   int
	}{
		{nil, 10, 0},
		{[]float64{5}, 10, 1},
		{[]float64{0, 9.9}, 10, 2},
		{[]float64{0, 10}, 10, 1},
		{[]float64{0, 5, 11, 12, 14, 30}, 10, 4},
		{[]float64{0, 0, 0, 100, 100}, 10, 3},
	} {
		if got := mostWithin(c.times, c.length); got != c.want {
			t.Errorf("%v within %g: %d, want %d", c.times, c.length, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	values := []int{9, 1, 8, 2, 7, 3, 6, 4, 5, 10}
	for p, want := range map[int]int{0: 1, 10: 1, 50: 5, 90: 9, 91: 10, 100: 10} {
		if got := percentile(values, p); got != want {
			t.Errorf("%d: %d, want %d", p, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

// scripted is a session of shell commands, five seconds apart.
func scripted(as label, commands ...string) *session {
	s := &session{header: header{Session: "s", Agent: "a", Kind: coding, Workspace: "/w"}}
	for i, command := range commands {
		s.calls = append(s.calls, call{At: float64(5 * i), Tool: "Bash", Arguments: json.RawMessage(bashArguments(command)), Label: as})
	}
	return s
}

// TestGrants plays a session with each way of remembering.
func TestGrants(t *testing.T) {
	commands := []string{"frobnicate --now", "frobnicate --now", "frobnicate --then", "frobnicate --now"}
	for i, want := range []figures{
		{prompts: 4},
		{prompts: 2, grants: 2, useful: 1},
		{prompts: 2, grants: 2, useful: 1},
	} {
		r, err := variants[i].measure([]*session{scripted(harmless, commands...)})
		if err != nil {
			t.Fatal(err)
		}
		f := r.of(coding)
		if f.calls != 4 || f.harmless != 4 || f.prompts != want.prompts || f.harmlessAsked != want.prompts || f.worst[0] != want.prompts || f.grants != want.grants || f.useful != want.useful {
			t.Errorf("%s: %+v", variants[i].name, f)
		}
	}
	r, err := variants[1].measure([]*session{scripted(grey, commands...)})
	if f := r.of(coding); err != nil || f.prompts != 4 || f.grants != 0 {
		t.Errorf("only harmless calls are remembered: %+v, %v", f, err)
	}
}

// TestExactTakesTheFewest: one pattern for each command, none that is wider.
func TestExactTakesTheFewest(t *testing.T) {
	suggested := []string{"a", "b", "wider"}
	two := func(patterns []string) bool { return len(patterns) >= 2 }
	if got := exact(suggested, two); strings.Join(got, " ") != "a b" {
		t.Errorf("exact: %q", got)
	}
	if got := widest(suggested, two); len(got) != 3 {
		t.Errorf("widest: %q", got)
	}
	never := func([]string) bool { return false }
	if exact(suggested, never) != nil || widest(suggested, never) != nil || widest(nil, two) != nil {
		t.Error("a grant that allows nothing is remembered")
	}
}

// TestLimits exceeds each limit.
func TestLimits(t *testing.T) {
	verdict := func(action policy.Action, label label, kind string, n int) *played {
		p := &played{session: &session{header: header{Session: "s", Kind: kind}}}
		for range n {
			p.calls = append(p.calls, judged{call{Tool: "x", Label: label}, policy.Verdict{Action: action}})
		}
		return p
	}
	grants := verdict(policy.Allow, harmless, coding, 1)
	grants.grants = map[string]*use{"a": {allowed: true}, "b": {like: true}, "c": {like: true}, "d": {}}
	mixed := &played{session: &session{header: header{Session: "s", Kind: coding}}}
	for _, as := range []label{harmless, risky, grey} {
		v := policy.Verdict{Action: policy.Ask, ByDefault: true, Risk: approvals.RiskLow, RequiredApprovals: 1, Effects: []approvals.Effect{{Kind: approvals.EffectRead}}}
		mixed.calls = append(mixed.calls, judged{call{At: 5, Tool: "x", Label: as}, v})
	}
	for name, c := range map[string]struct {
		result result
		want   string
	}{
		"within":   {result{noGrants, []*played{verdict(policy.Allow, harmless, coding, 9), verdict(policy.Ask, risky, coding, 1)}}, ""},
		"coding":   {result{noGrants, []*played{verdict(policy.Ask, grey, coding, 1)}}, "coding: 100.0 prompts per 100 calls"},
		"business": {result{noGrants, []*played{verdict(policy.Ask, grey, business, 1)}}, "business: 100.0 prompts per 100 calls"},
		"worst":    {result{noGrants, []*played{verdict(policy.Ask, grey, coding, 11)}}, "coding: 11 questions in the worst five minutes"},
		"risky":    {result{"any", []*played{verdict(policy.Allow, risky, business, 1)}}, "any, business: 1 risky calls pass"},
		"grants":   {result{alwaysWidest, []*played{grants}}, "coding: 33 % of the grants"},
		"mixed":    {result{"any", []*played{mixed}}, "any, coding: 1 questions join risky and harmless calls"},
	} {
		err := checkLimits([]*result{&c.result})
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestQuestions: what waits at a look is one question where it may be joined.
func TestQuestions(t *testing.T) {
	s := scripted(harmless, "touch /elsewhere/a", "touch /elsewhere/b", "frobnicate --now", "touch /elsewhere/c", "true", "true", "touch /elsewhere/d", "touch /elsewhere/e")
	r, err := variants[0].measure([]*session{s})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range r.sessions[0].questions() {
		text := fmt.Sprint(q.at)
		for _, c := range q.calls {
			text += " " + c.verdict.Preview
		}
		got = append(got, text)
	}
	want := []string{"30 touch /elsewhere/a touch /elsewhere/b touch /elsewhere/c", "30 frobnicate --now", "60 touch /elsewhere/d touch /elsewhere/e"}
	if f := r.of(coding); !slices.Equal(got, want) || f.prompts != 6 || f.questions != 3 || f.sizes[3] != 1 || f.sizes[2] != 1 || f.sizes[1] != 1 || f.worstTogether[0] != 3 {
		t.Errorf("%q, %+v", got, f)
	}
}

// TestReport prints every table of a small session.
func TestReport(t *testing.T) {
	s := scripted(harmless, "frobnicate --now", "cd /w && frobnicate list | wc -l")
	s.calls = append(s.calls, call{At: 11, Tool: "Bash", Arguments: json.RawMessage(bashArguments("git status")), Label: risky, Class: "publish"})
	r, err := variants[0].measure([]*session{s})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printTables(&out, []*result{r}); err != nil {
		t.Fatal(err)
	}
	if err := printNeedless(&out, r, 5); err != nil {
		t.Fatal(err)
	}
	printPassed(&out, []*result{r})
	for _, want := range []string{"CODING", "66.7", "2 of 2 (100 %)", "1 of 1", "frobnicate", "publish, by ", "floor", "TOGETHER, A LOOK EVERY 30 S", "2 of 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
}

func TestProgramOf(t *testing.T) {
	for command, want := range map[string]string{
		"git status --short": "git status", "npm run lint": "npm run", "ls -la": "ls", "cat README.md": "cat",
		"pnpm --filter web test": "pnpm test", "kubectl -n x get pods": "kubectl get", "": "", "./gradlew test": "./gradlew test", "sed -n 1,8p x": "sed",
	} {
		if got := programOf(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
