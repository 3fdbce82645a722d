package policylearn

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestVerdictWith compares the verdicts on calls with rules for many sets of candidates with those of
// the policy that has all these rules.
func TestVerdictWith(t *testing.T) {
	calls := []struct{ tool, field, text string }{
		{"bash", "command", "go vet ./a"},
		{"bash", "command", "go vet ./b && frob a"},
		{"bash", "command", "cd x && frob a | wc -l; frob b"},
		{"bash", "command", "frob a"},
		{"bash", "command", "git -C x frobnicate y"},
		{"bash", "command", "git -C x log --stat"},
		{"bash", "command", "timeout 5 frob a"},
		{"bash", "command", "for x in a; do frob $x; done"},
		{"bash", "command", "cat .env"},
		{"bash", "command", "cat a .env && frob a"},
		{"bash", "command", "git push origin x"},
		{"bash", "command", "frob a > /tmp/x"},
		{"bash", "command", "frob a < b"},
		{"bash", "command", "git status && frob a"},
		{"bash", "command", "rg x | xargs cat"},
		{"Edit", "file_path", "/work/app/src/a.go"},
		{"Edit", "file_path", "/work/app/.env"},
		{"Edit", "file_path", "src/b.go"},
		{"Read", "file_path", "/elsewhere/a"},
		{"WebFetch", "url", "https://docs.example.org/a"},
		{"WebFetch", "url", "https://docs.example.org/b"},
		{"get_order", "id", "5"},
		{"get_order", "id", "6"},
		{"apply_patch", "input", "*** Begin Patch\n*** Add File: src/a\n+x\n*** Add File: lib/b\n+x\n*** End Patch"},
	}
	for name, src := range map[string]string{
		"plain":      "default: ask\n",
		"rules":      "default: ask\nrules:\n  - allow: ['bash(git status)', 'bash(wc:*)', 'bash(cd *)']\n  - ask: ['bash(git push:*)', '*(**/.github/**)']\n  - deny: ['bash(rm *)']\n",
		"conditions": "default: ask\nrules:\n  - allow: ['bash(frob:*)']\n    when: session == 's1'\n  - ask: ['bash(go vet ./b)']\n    when: run.tainted\ntaint: ['WebFetch']\n",
		"limits":     "default: ask\nrules:\n  - allow: ['bash(frob:*)']\n    limit: {per_run: 1}\n",
		"workspace":  "default: ask\nworkspace: [/work/app]\nrules:\n  - allow: ['shell(*)']\n    does: [read]\n    within: workspace\n  - allow: ['Edit(./**)']\n",
	} {
		p, err := policy.Parse("policy.yaml", []byte(src))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p = p.In(p.Workspace().Of(workspace.Agent{Folder: "/work/app"}))
		l := New("policy.yaml", approvals.ProposalQuery{}, func(approvals.Principal) *policy.Policy { return p })
		for i, c := range calls {
			arguments, _ := json.Marshal(map[string]string{c.field: c.text})
			r := approvals.Request{
				ID: fmt.Sprint("R", i), Kind: approvals.KindPermission, Status: approvals.StatusApproved, SessionID: fmt.Sprint("s", i%3), RunID: "r",
				ToolName: c.tool, Arguments: arguments, CreatedAt: time.Unix(int64(i), 0), Rule: "default",
				Decisions: []approvals.Decision{{RequestID: fmt.Sprint("R", i), Action: approvals.ActionApprove, ReviewerID: "rob"}},
			}
			for _, e := range r.Events() {
				l.Take(&e)
			}
		}
		all := l.candidates()
		l.findAffected(all)
		random, passed := rand.New(rand.NewPCG(1, 2)), 0
		for round := range 300 {
			var some []*candidate
			for _, c := range all {
				if random.IntN(round%5+2) == 0 {
					some = append(some, c)
				}
			}
			with := judge.NewRules(allowing(p, some))
			for _, request := range l.asked {
				if !request.open() {
					continue
				}
				want, got := with.Verdict(request.from, request.call), request.verdictWith(some)
				if want.Action == policy.Allow {
					passed++
				} else { // only the rule counts
					want, got = policy.Verdict{Action: want.Action, Rule: want.Rule, Limits: want.Limits}, policy.Verdict{Action: got.Action, Rule: got.Rule, Limits: got.Limits}
				}
				if len(want.Limits) != len(got.Limits) {
					t.Fatalf("%s: %s: %d limits, not %d", name, request.call.Arguments, len(got.Limits), len(want.Limits))
				}
				want.Limits, got.Limits = nil, nil
				if !reflect.DeepEqual(want, got) { // cmp takes long, also for equal ones
					t.Fatalf("%s: %s %s (-all +used):\n%s", name, request.call.Name, request.call.Arguments, cmp.Diff(want, got))
				}
			}
		}
		if passed == 0 {
			t.Errorf("%s: no call passes with any candidates", name)
		}
	}
}
