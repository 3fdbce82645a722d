package approvalstest

import (
	"context"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
)

// AnyPolicy accepts every grant. A pattern covers the calls of the tool it names.
type AnyPolicy struct{}

// CheckGrant fills in the scope user and the tool of the request.
func (AnyPolicy) CheckGrant(g approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	if g.Scope == "" {
		g.Scope = approvals.GrantUser
	}
	if r != nil && len(g.Patterns) == 0 {
		g.Patterns = []string{r.ToolName}
	}
	return g, nil
}

// GrantCovers compares names of tools.
func (p AnyPolicy) GrantCovers(g approvals.Grant) func(approvals.Event) bool {
	return func(e approvals.Event) bool { return p.GrantIsFor(g, e.ToolName) }
}

// GrantIsFor reports whether a pattern is the name of the tool.
func (AnyPolicy) GrantIsFor(g approvals.Grant, tool string) bool {
	for _, p := range g.Patterns {
		if p == tool {
			return true
		}
	}
	return false
}

// RunGrants returns grants that are ready and follow their store until stop or the end of
// the test. Their policy is [AnyPolicy].
func RunGrants(t testing.TB, o grants.Options) (b *grants.Grants, stop func()) {
	t.Helper()
	o.Judge = AnyPolicy{}
	b = grants.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	Await(t, b.Ready(), "the grants to be ready")
	return b, stop
}
