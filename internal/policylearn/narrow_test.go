package policylearn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestNarrow: an ask rule whose every request was approved is named, with the calls that were approved again and again.
func TestNarrow(t *testing.T) {
	const src = "default: ask\ntools: {bash: {resource: command, as: shell}}\nrules:\n  - ask: ['bash(git push *)']\n"
	pushes := bash("approve", "git push origin dev", "git push origin dev", "git push origin dev", "git push origin other")
	_, _, got := learn(t, src, approvals.ProposalQuery{}, pushes)
	want := []string{`when: '!(resource in ["git push origin dev"])'`, "- allow: ['bash(git push origin dev)']"}
	if len(got.Narrow) != 1 || got.Narrow[0].Rule != "policy.yaml:4" || got.Narrow[0].Approved != 4 || !slices.Equal(got.Narrow[0].Lines, want) {
		t.Errorf("narrow: %+v", got.Narrow)
	}
	for name, calls := range map[string][]decided{
		"denied once":      all(pushes, bash("deny", "git push origin main")),
		"another each":     bash("approve", "git push origin a", "git push origin b", "git push origin c"),
		"in one session":   {pushes[0], pushes[0], pushes[0]},
		"asked by default": bash("approve", "make", "make", "make"),
		"of critical risk": nil,
		"by a time-out":    bash("silence", "git push origin dev", "git push origin dev", "git push origin dev"),
		"edited":           bash("modify_args", "git push origin dev", "git push origin dev", "git push origin dev"),
	} {
		policy := src
		if calls == nil {
			calls, policy = pushes, src+"    risk: critical\n"
		}
		if _, _, got := learn(t, policy, approvals.ProposalQuery{}, calls); len(got.Narrow) != 0 {
			t.Errorf("%s: %+v", name, got.Narrow)
		}
	}
}

// TestEqualValues: of a tool that looks something up a proposal has the values that were equal in all approved calls.
func TestEqualValues(t *testing.T) {
	calls := func(tool string, arguments ...string) (made []decided) {
		for i, text := range arguments {
			made = append(made, decided{"s" + string(rune('1'+i%2)), tool, text, "approve", ann})
		}
		return made
	}
	for _, tt := range []struct {
		calls []decided
		want  string // "": nothing with a *
	}{
		{calls("find_orders", `{"since":"may","limit":20}`, `{"since":"june","limit":20}`, `{"since":"july","limit":20}`), `find_orders({"limit":20,"since":*})`},
		{calls("transfer_money", `{"to":"ann","amount":1}`, `{"to":"ann","amount":2}`, `{"to":"ann","amount":3}`), ""},
		{calls("handle", `{"to":"ann","amount":1}`, `{"to":"ann","amount":2}`, `{"to":"ann","amount":3}`), ""},
		{calls("get_thing", `{"name":"a","id":"x"}`, `{"name":"b","id":"x"}`, `{"name":"c","id":"x"}`), ""},
		{calls("find_orders", `{"filter":{"a":1},"limit":20}`, `{"filter":{"a":2},"limit":20}`, `{"filter":{"a":3},"limit":20}`), ""},
		{calls("find_orders", `{"since":"may"}`, `{"since":"june"}`, `{"since":"july"}`), ""},
		{calls("find_orders", `{"since":"may","limit":20}`, `{"since":"june","limit":20}`), ""},
		{calls("query_db", `{"sql":"select 1","db":"a"}`, `{"sql":"drop table x","db":"a"}`, `{"sql":"select 2","db":"a"}`), ""},
		{calls("get_secret", `{"of":"a","limit":1}`, `{"of":"b","limit":1}`, `{"of":"c","limit":1}`), ""},
	} {
		items, _, _ := learn(t, "default: ask\n", approvals.ProposalQuery{}, tt.calls)
		got := ""
		for _, item := range items {
			if pattern, _, _ := strings.Cut(item, " "); strings.Contains(pattern, "*") {
				got = pattern
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.calls[0].tool, tt.calls[0].arguments, got, tt.want)
		}
	}
}
