package policylearn_test

import (
	"fmt"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/policylearn"
)

// compound returns calls of scripts of several commands, with as many programs.
func compound(calls, programs int) (all []decided) {
	for i := range calls {
		script := fmt.Sprintf("cd /work/app && prog%d check file%d.go | head -20; git status --short && prog%d list 2>&1 | wc -l", i%programs, i%7, (i+1)%programs)
		fate := "approve"
		if i%97 == 5 {
			fate = "pending"
		}
		all = append(all, bash(fate, script)...)
		all[i].session = fmt.Sprintf("s%d", i%9)
	}
	return all
}

// BenchmarkProposals learns from 5,000 compound calls.
func BenchmarkProposals(b *testing.B) {
	p, err := policy.Parse("policy.yaml", []byte("rules:\n  - ask: ['bash(git push:*)', 'bash(sudo *)']\n  - deny: ['bash(rm -rf /*)']\n"))
	if err != nil {
		b.Fatal(err)
	}
	var events []approvals.Event
	for i, d := range compound(5000, 6) {
		events = append(events, d.events(i)...)
	}
	for b.Loop() {
		l := policylearn.New("policy.yaml", approvals.ProposalQuery{}, func(approvals.Principal) *policy.Policy { return p })
		for i := range events {
			l.Take(&events[i])
		}
		found := l.Proposals()
		b.ReportMetric(float64(len(found.Items)), "proposals")
	}
}
