package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// principals has the last signal to each principal, in memory.
type principals struct {
	mu      sync.Mutex
	last    map[approvals.Principal]approvals.PrincipalSignal // a resume is kept: an older signal may arrive later
	stopped int                                               // of these in force
}

func newPrincipals() *principals {
	return &principals{last: map[approvals.Principal]approvals.PrincipalSignal{}}
}

// apply stores a signal, and reports false for one that is older than the known one.
func (p *principals) apply(s approvals.PrincipalSignal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.last[s.Principal]
	if known && before.Since.After(s.Since) {
		return false
	}
	p.last[s.Principal] = s
	p.stopped += oneIf(s.InForce()) - oneIf(before.InForce())
	return true
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// any reports whether a signal is in force.
func (p *principals) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped > 0
}

// applying returns the signals in force that apply to runs of a principal, aborts first.
func (p *principals) applying(who approvals.Principal) []approvals.PrincipalSignal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == 0 {
		return nil
	}
	var found []approvals.PrincipalSignal
	for _, wider := range who.Wider() {
		if s, ok := p.last[wider]; ok && s.InForce() {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b approvals.PrincipalSignal) int { return cmp.Compare(a.Action, b.Action) })
	return found
}

// state returns the state of the runs of a principal as far as signals by principal decide
// it, and since when.
func (p *principals) state(who approvals.Principal) (approvals.RunState, time.Time) {
	if found := p.applying(who); len(found) > 0 {
		return found[0].State(), found[0].Since
	}
	return approvals.RunRunning, time.Time{}
}

// list returns the signals in force, the latest first.
func (p *principals) list() []approvals.PrincipalSignal {
	found := []approvals.PrincipalSignal{}
	p.mu.Lock()
	for _, s := range p.last {
		if s.InForce() {
			found = append(found, s)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(found, func(a, b approvals.PrincipalSignal) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Key(), b.Key()))
	})
	return found
}

// Signals are the signals by principal. It is safe for concurrent use.
type Signals struct {
	store    approvals.Records[approvals.PrincipalSignal]
	recorder *recorder
	runs     *runs
	now      func() time.Time
}

// Send pauses, resumes or aborts all runs of a principal, present and future, and returns
// the signal. The channel that authenticated the reviewer must have set ReviewerID. An
// abort cancels the pending requests of these runs, and is in force until a resume. A signal
// that changes nothing succeeds. Send fails with [*approvals.InvalidError] or
// [approvals.ErrStoreUnavailable].
func (g *Signals) Send(ctx context.Context, s approvals.PrincipalSignal) (approvals.PrincipalSignal, error) {
	state, event, err := checkAction(s.Action, s.ReviewerID)
	if err == nil && s.Principal == (approvals.Principal{}) {
		err = approvals.Invalid("principal", "it is empty; name a tenant, a user or an agent")
	}
	if err != nil {
		return s, err
	}
	sent, err := g.write(ctx, s, event)
	if err != nil {
		return sent, err
	}
	g.apply(sent)
	if state == approvals.RunAborted {
		err = g.runs.cancelAborted(ctx)
	}
	return sent, err
}

// write writes the signal by compare-and-set, then its event.
func (g *Signals) write(ctx context.Context, s approvals.PrincipalSignal, event approvals.EventType) (approvals.PrincipalSignal, error) {
	for attempt := 0; ; attempt++ {
		before, revision, err := g.store.Get(ctx, s.Key())
		s.Since = laterThan(before.Since, g.now())
		switch {
		case errors.Is(err, approvals.ErrUnknownSignal) && s.Action == approvals.SignalResume:
			return s, nil
		case err != nil && !errors.Is(err, approvals.ErrUnknownSignal):
			return s, err
		case err == nil && before.Action == s.Action:
			return before, nil
		case err == nil && before.Action == approvals.SignalAbort && s.Action == approvals.SignalPause:
			return before, approvals.Invalid("action", "%s has aborted these runs; resume them first", before.ReviewerID)
		}
		err = g.store.Put(ctx, s, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return s, approvals.Unavailable("write a signal", err)
			}
			continue
		}
		if err != nil {
			return s, err
		}
		return s, g.recorder.recordChange(ctx, approvals.Event{
			Type: event, Tenant: s.Principal.Tenant, Principal: s.Principal, ReviewerID: s.ReviewerID, Note: string(s.Payload), Time: s.Since,
		})
	}
}

// apply makes a signal take effect in this process.
func (g *Signals) apply(s approvals.PrincipalSignal) {
	if !g.runs.principals.apply(s) {
		return
	}
	g.runs.wakeAll()
	if s.State() == approvals.RunAborted {
		g.runs.timers.add(&timer{kind: timerCancelAborted, at: g.now()})
	}
}

// InForce returns the signals that pause or abort runs, the latest first.
func (g *Signals) InForce() []approvals.PrincipalSignal { return g.runs.principals.list() }
