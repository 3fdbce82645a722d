package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/internal/policylearn"
)

// proposals proposes rules for the policies in force.
type proposals struct {
	judge  *judge.Judge
	events console.Audit
	turn   sync.Mutex // a list judges many calls: one at a time
}

func (p *parts) proposals() *proposals { return &proposals{judge: p.judge, events: p.store.events} }

// list returns the rules that decisions suggest, for all policies.
func (p *proposals) list(ctx context.Context, q approvals.ProposalQuery) (approvals.Proposals, error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	var learners []*policylearn.Learner
	for _, s := range p.judge.Sources() {
		learners = append(learners, policylearn.New(s.Name(), q, func(who approvals.Principal) *policy.Policy { return p.judge.Judging(s, who) }))
	}
	for entry, err := range p.events.EntriesFrom(ctx, 0, q.Since) {
		if err != nil {
			return approvals.Proposals{}, approvals.Unavailable("read the recorded decisions", err)
		}
		for _, l := range learners {
			l.Take(&entry.Event)
		}
	}
	all := approvals.Proposals{Items: []approvals.Proposal{}, LeftOut: []approvals.LeftOut{}, Narrow: []approvals.NarrowedRule{}}
	for _, l := range learners {
		learned := l.Proposals()
		all.Of += learned.Of
		all.Items, all.LeftOut = append(all.Items, learned.Items...), append(all.LeftOut, learned.LeftOut...)
		all.Narrow = append(all.Narrow, learned.Narrow...)
	}
	slices.SortStableFunc(all.Items, func(a, b approvals.Proposal) int { return cmp.Compare(b.Fewer, a.Fewer) })
	return all, nil
}
