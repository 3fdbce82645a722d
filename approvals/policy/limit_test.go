package policy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

func limitedPolicy(t *testing.T, limit string) *Policy {
	t.Helper()
	return parse(t, "tools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: ['bash(ls *)', read]\n    limit: "+limit+"\n  - allow: ['bash(cat *)', 'b*(ls -l)']\n")
}

func parse(t *testing.T, src string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ls(run string) Call {
	return Call{Tool: "bash", Arguments: `{"command":"ls a"}`, Run: run, Turn: run + "-1", Now: time.Unix(1000, 0)}
}

// A limit holds for each call that its rule covers a part of, whether or not another
// rule allows it as well.
func TestLimitsOfAVerdict(t *testing.T) {
	p := limitedPolicy(t, "{per_turn: 2, per_run: 5}")
	for _, tt := range []struct{ tool, args, want string }{
		{"bash", `{"command":"ls a"}`, "2 calls a turn, 5 a run"},
		{"bash", `{"command":"cat x; ls a"}`, "2 calls a turn, 5 a run"},
		{"bash", `{"command":"timeout 5 ls a"}`, "2 calls a turn, 5 a run"},
		{"bash", `{"command":"ls -l"}`, "2 calls a turn, 5 a run"},
		{"bash", `{"command":"cat x"}`, ""},
		{"read", `{}`, "2 calls a turn, 5 a run"},
		{"bash", `{"command":"ls a > b"}`, ""}, // asked about
	} {
		v := p.Judge(Call{Tool: tt.tool, Arguments: tt.args})
		got := ""
		for _, l := range v.Limits {
			got += l.String()
		}
		if got != tt.want {
			t.Errorf("%s %s: %s with the limits %q, want %q", tt.tool, tt.args, v.Action, got, tt.want)
		}
	}
	if _, byName := p.allowsAny(&Call{Tool: "read"}); byName {
		t.Error("a tool with a limit passes by its name")
	}
}

func TestBeyondALimit(t *testing.T) {
	for _, tt := range []struct {
		limit string
		want  Action
	}{{"{per_run: 1}", Ask}, {"{per_run: 1, then: ask}", Ask}, {"{per_run: 1, then: deny}", Deny}} {
		p, n := limitedPolicy(t, tt.limit), NewCounter(10)
		for i := range 2 {
			v := p.Judge(ls("a"))
			_, over, _ := n.Take(t.Context(), v.Limits)
			if (over != nil) != (i == 1) {
				t.Fatalf("%s: call %d is beyond the limit: %t", tt.limit, i+1, over != nil)
			}
			if over == nil {
				continue
			}
			v = v.Exceeded(over)
			if v.Action != tt.want || v.Rule != "policy.yaml:4" || v.Reason != "The policy's limit of 1 call a run for bash(ls *) is reached." {
				t.Errorf("%s: %s by %s: %s", tt.limit, v.Action, v.Rule, v.Reason)
			}
			if v.Action == Ask && (v.Timeout != rule.DefaultTimeout || v.RequiredApprovals != 1 || v.OnTimeout != approvals.OnTimeoutDeny || len(v.Suggested) == 0) {
				t.Errorf("people are asked with %+v", v)
			}
			if v := (Shadow{Policy: p}).Judge(ls("a")); v.Limits[0].shadowed != true {
				t.Error("a policy that is tried out would deny")
			}
		}
	}
}

// However many calls come at once, so many pass as the limit lets.
func TestCounterAtOnce(t *testing.T) {
	p, n := limitedPolicy(t, "{per_run: 100, per_minute: 70}"), NewCounter(1000)
	var passed atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				charge, over, _ := n.Take(t.Context(), p.Judge(ls("a")).Limits)
				switch {
				case over != nil:
				case (i+j)%2 == 0:
					charge.Return()
					charge.Return()
				default:
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := passed.Load(); got != 70 {
		t.Errorf("%d calls have passed", got)
	}
}

// Of a call that wraps others, or has several limits, all count or none.
func TestCounterTakesAllOrNone(t *testing.T) {
	p, n := limitedPolicy(t, "{per_run: 3}"), NewCounter(10)
	one := p.Judge(ls("a")).Limits
	two := append(p.Judge(ls("a")).Limits, one...)
	if _, over, _ := n.Take(t.Context(), two); over != nil {
		t.Error("two calls of three do not pass")
	}
	if _, over, _ := n.Take(t.Context(), two); len(over) != 1 || over[0].Bound != "3 calls a run" {
		t.Errorf("four calls of three pass (%+v)", over)
	}
	if _, over, _ := n.Take(t.Context(), one); over != nil {
		t.Error("what did not pass was counted")
	}
}

func TestCounterForgets(t *testing.T) {
	p := limitedPolicy(t, "{per_run: 1}")
	n := NewCounter(3)
	passes := func(run string) bool {
		_, over, _ := n.Take(t.Context(), p.Judge(ls(run)).Limits)
		return over == nil
	}
	for _, run := range []string{"a", "b", "c"} {
		if !passes(run) || passes(run) {
			t.Errorf("run %s: not one call passes", run)
		}
	}
	passes("a") // is used last now
	if !passes("d") || passes("a") || !passes("b") || len(n.counts) != 3 || n.recent.Len() != 3 {
		t.Errorf("%d counts are kept, and not those used last", len(n.counts))
	}
}

func TestCounterOfAMinute(t *testing.T) {
	p, n := limitedPolicy(t, "{per_minute: 2}"), NewCounter(10)
	var got strings.Builder
	for _, second := range []int64{0, 10, 20, 59, 60, 65, 70, 71} {
		c := ls(fmt.Sprint(second))
		c.Now = time.Unix(1000+second, 0)
		_, over, _ := n.Take(t.Context(), p.Judge(c).Limits)
		fmt.Fprintf(&got, "%t ", over == nil)
	}
	if got.String() != "true true false false true false true false " {
		t.Errorf("passed: %s", got.String())
	}
}

// A count stays with its rule when the rule moves in the file.
func TestCountOutlivesAReload(t *testing.T) {
	n := NewCounter(10)
	for i, src := range []string{"", "# another line\n", "ambiguous: deny\n"} {
		p := parse(t, src+"rules:\n  - allow: [x]\n    limit: {per_run: 2}\n")
		if _, over, _ := n.Take(t.Context(), p.Judge(Call{Tool: "x", Run: "a"}).Limits); (over != nil) != (i == 2) {
			t.Errorf("call %d is beyond the limit: %t", i+1, over != nil)
		}
	}
}

// A grant that lifts a rule which asks does not lift its limit.
func TestLimitOfALiftedRule(t *testing.T) {
	p, n := parse(t, "rules:\n  - ask: [send_mail]\n    remember: true\n    limit: {per_minute: 2, then: deny}\n"), NewCounter(10)
	p = p.With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantUser, "send_mail")))
	for i := range 3 {
		v := p.Judge(Call{Tool: "send_mail", Arguments: "{}", Principal: ann, Now: noon})
		if v.Action != Allow || len(v.Limits) != 1 {
			t.Fatalf("call %d: %s by %s with %d limits", i+1, v.Action, v.Rule, len(v.Limits))
		}
		_, over, _ := n.Take(t.Context(), v.Limits)
		if (over != nil) != (i == 2) {
			t.Fatalf("call %d is beyond the limit: %t", i+1, over != nil)
		}
		if over == nil {
			continue
		}
		if v := v.Exceeded(over); v.Action != Deny || v.Reason != "The policy's limit of 2 calls a minute for send_mail is reached." {
			t.Errorf("%s: %s", v.Action, v.Reason)
		}
	}
}

// A call that is one too many for limits of several rules is asked of all whom they name,
// and denied where one of them denies.
func TestBeyondSeveralLimits(t *testing.T) {
	rules := `rules:
  - allow: [mail]
    limit: {per_run: 1, per_turn: 1}
    reviewers: [dba]
  - allow: [m*]
    limit: {per_run: 1}
    reviewers: [security]
    required_approvals: 2
`
	mail := Call{Tool: "mail", Run: "a", Turn: "t"}
	beyond := func(rules string) Verdict {
		p, n := parse(t, rules), NewCounter(10)
		if _, over, _ := n.Take(t.Context(), p.Judge(mail).Limits); over != nil {
			t.Fatalf("the first call is beyond %+v", over)
		}
		v := p.Judge(mail)
		_, over, _ := n.Take(t.Context(), v.Limits)
		return v.Exceeded(over)
	}
	v := beyond(rules)
	want := []Demand{{Rule: "policy.yaml:5", Reviewers: []string{"security"}, RequiredApprovals: 2}, {Rule: "policy.yaml:2", Reviewers: []string{"dba"}, RequiredApprovals: 1}}
	if diff := cmp.Diff(want, v.Demands); diff != "" || v.Action != Ask || v.AllowRemember {
		t.Errorf("%s, to be remembered: %t\n%s", v.Action, v.AllowRemember, diff)
	}
	if v := beyond(rules + "  - allow: [mai*]\n    limit: {per_run: 1, then: deny}\n"); v.Action != Deny || v.Rule != "policy.yaml:9" {
		t.Errorf("%s by %s", v.Action, v.Rule)
	}
}

// memoryCounts are shared counts in memory. Each change is called twice, as if another
// process had been faster.
type memoryCounts struct {
	mu     sync.Mutex
	values map[string][]byte
	failed error
}

func (m *memoryCounts) Update(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	if _, err := change(m.values[key]); err != nil {
		return err
	}
	value, err := change(m.values[key])
	if value != nil {
		m.values[key] = value
	}
	return err
}

// sharing returns a counter of a process that shares counts with others.
func sharing(m *memoryCounts) *Counter {
	n := NewCounter(10)
	n.Share(m)
	return n
}

// Processes that share counts let as many calls pass together as the limit permits, and a
// returned call makes room in all of them.
func TestSharedCounts(t *testing.T) {
	p, m := limitedPolicy(t, "{per_run: 100, per_minute: 70}"), &memoryCounts{values: map[string][]byte{}}
	var passed atomic.Int64
	var last Charge
	var all sync.WaitGroup
	for range 3 {
		n := sharing(m)
		all.Go(func() {
			for range 40 {
				charge, over, err := n.Take(t.Context(), p.Judge(ls("a")).Limits)
				if err != nil {
					t.Error(err)
				}
				if over == nil && passed.Add(1) == 70 {
					last = charge
				}
			}
		})
	}
	all.Wait()
	if got := passed.Load(); got != 70 {
		t.Fatalf("%d calls have passed", got)
	}
	last.Return()
	last.Return()
	for i, want := range []bool{true, false} {
		if _, over, err := sharing(m).Take(t.Context(), p.Judge(ls("a")).Limits); (over == nil) != want || err != nil {
			t.Errorf("call %d after a return passes: %t, %v", i+1, over == nil, err)
		}
	}
	if _, over, _ := sharing(m).Take(t.Context(), p.Judge(ls("b")).Limits); over == nil {
		t.Error("another run has its own minute")
	}
}

func TestSharedCountOfAMinute(t *testing.T) {
	p, m := limitedPolicy(t, "{per_minute: 2}"), &memoryCounts{values: map[string][]byte{}}
	var got strings.Builder
	for _, second := range []int64{0, 10, 20, 59, 60, 65, 70, 71} {
		c := ls(fmt.Sprint(second))
		c.Now = time.Unix(1000+second, 0)
		_, over, _ := sharing(m).Take(t.Context(), p.Judge(c).Limits)
		fmt.Fprintf(&got, "%t ", over == nil)
	}
	if got.String() != "true true false false true false true false " {
		t.Errorf("passed: %s", got.String())
	}
}

// A call whose limit cannot be counted does not pass.
func TestSharedCountsFail(t *testing.T) {
	p := limitedPolicy(t, "{per_turn: 1, per_run: 1}")
	for name, m := range map[string]*memoryCounts{
		"not available": {failed: approvals.ErrStoreUnavailable},
		"damaged":       {values: map[string][]byte{limitKey(p): []byte("{")}},
	} {
		n := sharing(m)
		if _, _, err := n.Take(t.Context(), p.Judge(ls("a")).Limits); err == nil {
			t.Errorf("%s: the call passes", name)
		}
		if _, over, err := n.Take(t.Context(), p.Judge(ls("a")).Limits); over != nil || err == nil {
			t.Errorf("%s: the failed call counts for its turn", name)
		}
	}
}

func limitKey(p *Policy) string {
	l := p.Judge(ls("a")).Limits[0]
	return l.countKey("run").shared()
}
