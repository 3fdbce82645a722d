package policylearn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/policylearn"
)

var (
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ann  = approvals.Principal{Tenant: "default", User: "ann", Agent: "coder"}
	bob  = approvals.Principal{Tenant: "default", User: "bob", Agent: "coder"}
)

// decided is a call, and what became of it: an action of a person, or a status.
type decided struct {
	session, tool, arguments, fate string
	who                            approvals.Principal
}

// bash returns calls of a shell in sessions s1, s2, ...
func bash(fate string, commands ...string) (all []decided) {
	for i, command := range commands {
		text, _ := json.Marshal(map[string]string{"command": command})
		all = append(all, decided{fmt.Sprintf("s%d", i%2+1), "bash", string(text), fate, ann})
	}
	return all
}

func edits(fate string, paths ...string) (all []decided) {
	for i, path := range paths {
		text, _ := json.Marshal(map[string]string{"file_path": path, "old_string": "a", "new_string": "b"})
		all = append(all, decided{fmt.Sprintf("s%d", i%2+1), "Edit", string(text), fate, ann})
	}
	return all
}

// events returns the events of a request with this end.
func (d decided) events(i int) []approvals.Event {
	r := approvals.Request{
		ID: fmt.Sprintf("R%03d", i), Kind: approvals.KindPermission, Status: approvals.StatusApproved, Principal: d.who, SessionID: d.session, RunID: "r",
		ToolName: d.tool, Arguments: json.RawMessage(d.arguments), CreatedAt: noon.Add(time.Duration(i) * time.Second), Rule: "default",
	}
	decision := approvals.Decision{RequestID: r.ID, Action: approvals.Action(d.fate), ReviewerID: "rob", DecidedAt: r.CreatedAt}
	switch d.fate {
	case "pending":
		return r.Events()
	case "expired":
		r.Status = approvals.StatusExpired
		return r.Events()
	case "silence":
		decision.Action, decision.ReviewerID = approvals.ActionApprove, approvals.ReviewerTimeout
	case "modify_args":
		decision.ModifiedArgs = json.RawMessage(`{"command":"ls"}`)
	}
	r.Decisions = []approvals.Decision{decision}
	return r.Events()
}

func all(lists ...[]decided) (joined []decided) {
	for _, list := range lists {
		joined = append(joined, list...)
	}
	return joined
}

// learn returns the proposals, each as pattern approved/sessions fewer/alone of, and the other
// patterns with the reason.
func learn(t *testing.T, src string, q approvals.ProposalQuery, calls []decided) (items []string, left map[string]string, whole approvals.Proposals) {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	l := policylearn.New("policy.yaml", q, func(who approvals.Principal) *policy.Policy {
		if who != ann {
			return nil
		}
		return p
	})
	for i, d := range calls {
		for _, e := range d.events(i) {
			l.Take(&e)
		}
	}
	whole = l.Proposals()
	left = map[string]string{}
	for _, item := range whole.Items {
		items = append(items, fmt.Sprintf("%s %d/%d %d/%d of %d", item.Pattern, item.Approved, item.Sessions, item.Fewer, item.Alone, whole.Of))
	}
	for _, leftOut := range whole.LeftOut {
		left[leftOut.Pattern] = leftOut.Reason
	}
	return items, left, whole
}

// A decision counts if it is in the log before the event of its request: people may be quicker than the
// event.
func TestDecisionBeforeItsRequest(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("default: ask\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := policylearn.New("policy.yaml", approvals.ProposalQuery{}, func(approvals.Principal) *policy.Policy { return p })
	for i, d := range bash("approve", "go vet ./a", "go vet ./b", "go vet ./c") {
		events := d.events(i)
		slices.Reverse(events)
		for _, e := range events {
			l.Take(&e)
		}
	}
	if all := l.Proposals(); len(all.Items) != 1 || all.Items[0].Approved != 3 {
		t.Errorf("proposals %+v", all)
	}
}

func TestProposals(t *testing.T) {
	const ask = "default: ask\n"
	const guarded = ask + "rules:\n  - ask: ['path(@hook)', 'path(@ci)', 'path(@editor)', 'path(@agent)', 'path(@tool-manager)', 'path(@startup)', 'path(@cloud)', 'path(@deploy)', 'path(@installed-program)', 'path(@lock)']\n"
	ofBob := bash("approve", "go vet ./a", "go vet ./b", "go vet ./c")
	for i := range ofBob {
		ofBob[i].who = bob
	}
	for name, tt := range map[string]struct {
		policy string
		query  approvals.ProposalQuery
		calls  []decided
		want   []string
		left   map[string]string // a part of the reason
	}{
		"the wider pattern of calls that differ": {
			calls: bash("approve", "go vet ./a", "go vet ./b", "go vet ./c"),
			want:  []string{"bash(go vet:./**) 3/2 3/3 of 3"},
			left:  map[string]string{"bash(go vet ./a)": "approved once in 1 session; a proposal needs 3 in 2"},
		},
		"the exact pattern of one call": {
			calls: bash("approve", "go vet ./a", "go vet ./a", "go vet ./a"),
			want:  []string{"bash(go vet ./a) 3/2 3/3 of 3"},
			left:  map[string]string{"bash(go vet:./**)": "bash(go vet ./a) is proposed in its place"},
		},
		"a wider pattern with more approvals": {
			calls: bash("approve", "go vet ./a", "go vet ./a", "go vet ./a", "go vet ./b"),
			want:  []string{"bash(go vet:./**) 4/2 4/4 of 4"},
			left:  map[string]string{"bash(go vet ./a)": "bash(go vet:./**) is proposed in its place"},
		},
		"a denial drops what it matches": {
			calls: all(bash("approve", "go vet ./a", "go vet ./a", "go vet ./a", "go vet ./b"), bash("deny", "go vet -vettool=x ./...", "go vet ./c")),
			want:  []string{"bash(go vet ./a) 3/2 3/3 of 6"},
			left:  map[string]string{"bash(go vet:./**)": "was denied on 2026-11-22: go vet -vettool=x ./..."},
		},
		"so do other ends": {
			calls: all(bash("approve", "make a", "make a", "make a", "make b", "make b", "make b", "make c", "make c", "make c"),
				bash("modify_args", "make a"), bash("answer", "make b"), bash("abort_run", "ls; make c")),
			left: map[string]string{"bash(make a)": "was edited", "bash(make b)": "was answered in words", "bash(make c)": "its run stopped"},
		},
		"silence decides nothing": {
			calls: all(bash("silence", "make", "make", "make"), bash("expired", "make"), bash("pending", "make")),
		},
		"an expired request counts neither for nor against": {
			calls: all(bash("approve", "make", "make", "make"), bash("expired", "make")),
			want:  []string{"bash(make) 3/2 4/4 of 4"},
		},
		"one session": {
			calls: append(bash("approve", "make"), append(bash("approve", "make"), bash("approve", "make")...)...),
			left:  map[string]string{"bash(make)": "approved 3 times in 1 session"},
		},
		"as little evidence as asked for": {
			query: approvals.ProposalQuery{Approved: 1, Sessions: 1}, calls: bash("allow_always", "make"),
			want: []string{"bash(make) 1/1 1/1 of 1"},
		},
		"before the time": {
			query: approvals.ProposalQuery{Since: noon.Add(time.Hour)}, calls: bash("approve", "make", "make", "make"),
		},
		"another policy's calls": {calls: ofBob},
		"calls that a rule asks about whatever is allowed": {
			policy: ask + "rules:\n  - ask: ['bash(make *)']\n", calls: bash("approve", "make x", "make x", "make x"),
			left: map[string]string{"bash(make x)": "people would still be asked, by policy.yaml:3"},
		},
		"calls that the policy allows by now": {
			policy: ask + "rules:\n  - allow: ['bash(make)']\n", calls: bash("approve", "make", "make", "make"),
		},
		"critical calls": {
			policy: ask + "tools: {pay: {risk: critical}}\n",
			calls: []decided{
				{"s1", "pay", `{"to":"x"}`, "approve", ann}, {"s2", "pay", `{"to":"x"}`, "approve", ann}, {"s2", "pay", `{"to":"x"}`, "approve", ann},
			},
			left: map[string]string{`pay({"to":"x"})`: "critical risk"},
		},
		"patterns that only work together": {
			calls: bash("approve", "make a && make b", "make a && make b", "make a && make b"),
			want:  []string{"bash(make a) 3/2 3/0 of 3", "bash(make b) 3/2 3/0 of 3"},
		},
		"folders": {
			policy: guarded, calls: edits("approve", "/work/app/src/a.go", "/work/app/src/b.go", "/work/app/src/a.go"),
			want: []string{"Edit(/work/app/src/**) 3/2 3/3 of 3"},
			left: map[string]string{"Edit(/work/app/src/a.go)": "approved 2 times in"},
		},
		"wrapped calls": {
			calls: []decided{
				{"s1", "tool_call", `{"name":"get","arguments":{}}`, "approve", ann},
				{"s2", "tool_call", `{"name":"get","arguments":{}}`, "approve", ann},
				{"s2", "tool_call", `{"name":"get","arguments":{}}`, "approve", ann},
			},
		},
		"a denied call in another one": {
			calls: all(bash("approve", "make", "make", "make"), []decided{{"s1", "tool_call", `{"name":"bash","arguments":{"command":"make"}}`, "deny", ann}}),
			left:  map[string]string{"bash(make)": "was denied"},
		},
		"tools whose name is a pattern": {
			calls: []decided{{"s1", "a*", `{}`, "approve", ann}, {"s2", "a*", `{}`, "approve", ann}, {"s2", "a*", `{}`, "approve", ann}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.policy == "" {
				tt.policy = ask + "tools: {bash: {resource: command, as: shell}}\n"
			}
			got, left, _ := learn(t, tt.policy, tt.query, tt.calls)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s\nleft out: %q", d, left)
			}
			for pattern, reason := range tt.left {
				if !strings.Contains(left[pattern], reason) {
					t.Errorf("%s is left out because %q, want %q", pattern, left[pattern], reason)
				}
			}
		})
	}
}

// TestProposal: a proposal has the line to write, and the calls that it would have allowed.
func TestProposal(t *testing.T) {
	_, _, got := learn(t, "default: ask\n", approvals.ProposalQuery{}, bash("approve", "go vet ./a", "go vet ./b", "go vet ./a", "echo it's"))
	want := []approvals.Proposal{{
		Policy: "policy.yaml", Pattern: "bash(go vet:./**)", Line: "- allow: ['bash(go vet:./**)'] # approved 3 times in 2 sessions by 2026-11-22",
		Allows: approvals.AllowsOf("bash(go vet:./**)"), Approved: 3, Sessions: 2, Last: noon.Add(2 * time.Second), Fewer: 3, Alone: 3,
		Calls: []approvals.ProposedCall{{ToolName: "bash", Preview: "go vet ./a", Calls: 2}, {ToolName: "bash", Preview: "go vet ./b", Calls: 1}},
	}}
	if d := cmp.Diff(want, got.Items); d != "" || got.Of != 4 {
		t.Errorf("of %d (-want +got):\n%s", got.Of, d)
	}
	if line := policylearn.Line(&approvals.Proposal{Pattern: `bash(echo 'it'"'"'s')`}); !strings.HasPrefix(line, `- allow: ['bash(echo ''it''"''"''s'')'] #`) {
		t.Errorf("a pattern with quotes: %s", line)
	}
}
