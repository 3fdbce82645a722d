// Package grants keeps the grants of a deployment: [Grants] follows the store in
// memory, writes grants, and counts their uses. It begins in this file.
package grants

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

// Judge is what a [Grants] asks of policy.
type Judge interface {
	// CheckGrant completes a grant - its template, the patterns suggested for the
	// request whose decision it remembers - and says with an [*InvalidError] why
	// it may not be. r is nil for a grant that is made by hand.
	CheckGrant(g approvals.Grant, r *approvals.Request) (approvals.Grant, error)
	// GrantCovers makes of a grant what reports whether it would decide a call that
	// an event recorded, whosever call it is.
	GrantCovers(g approvals.Grant) func(approvals.Event) bool
	// GrantIsFor reports whether any pattern is for a tool of a name.
	GrantIsFor(g approvals.Grant, tool string) bool
}

// Options is what a [Grants] is made of.
type Options struct {
	Store approvals.GrantStore
	Judge Judge
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: discards
	// Kept is told of every grant that comes into force, Dropped of every one that
	// is revoked or long over, on whichever replica that happened. They are called
	// one after the other and must not wait; nil: nobody is told.
	Kept    func(approvals.Grant)
	Dropped func(id string)
	// NoSelfApproval keeps reviewers from granting what an agent may do that acts
	// for themselves: see gate.Options. Principals are those whose agents are
	// known, which a grant for a tenant covers, and Standing what is known of a
	// reviewer; nil: nothing of anybody.
	NoSelfApproval bool
	Principals     []approvals.Principal
	Standing       func(name string) (approvals.Standing, bool)
}

// Grants keeps the grants: a copy of them in memory that follows the store,
// so that nobody waits for it, what is written to it, and how often each is
// used. Any number of books may share one store. It is safe for concurrent use.
type Grants struct {
	store   approvals.GrantStore
	judge   Judge
	now     func() time.Time
	log     *slog.Logger
	kept    func(approvals.Grant)
	dropped func(string)
	ids     approvals.IDSource
	ready   chan struct{}
	// noSelfApproval, principals and standing: see Options.
	noSelfApproval bool
	principals     []approvals.Principal
	standing       func(string) (approvals.Standing, bool)

	mu      sync.Mutex
	byID    map[string]keptGrant
	ordered []string             // ids, ascending: in the order of creation
	gone    map[string]time.Time // when each was dropped, for as long as keepGone
	used    map[string]use       // not yet written
}

// keptGrant is a grant as the store has it at a revision.
type keptGrant struct {
	approvals.Grant
	revision uint64
}

// New makes a book. It knows no grants until [Grants.Run] has read
// them.
func New(o Options) *Grants {
	b := &Grants{
		store: o.Store, judge: o.Judge, now: o.Now, log: o.Log, kept: o.Kept, dropped: o.Dropped,
		noSelfApproval: o.NoSelfApproval, principals: o.Principals, standing: o.Standing,
		ready: make(chan struct{}), byID: map[string]keptGrant{}, gone: map[string]time.Time{}, used: map[string]use{},
	}
	if b.now == nil {
		b.now = time.Now
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.kept == nil {
		b.kept = func(approvals.Grant) {}
	}
	if b.dropped == nil {
		b.dropped = func(string) {}
	}
	if b.standing == nil {
		b.standing = func(string) (approvals.Standing, bool) { return approvals.Standing{}, false }
	}
	return b
}

// Run follows the store and writes what was used until the context ends. Call it
// once.
func (b *Grants) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return b.store.WatchGrants(ctx, b.keep, b.drop, func() { close(b.ready) })
	})
	group.Go(func() error { return b.keepUses(ctx) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the grants: %w", err)
	}
	return nil
}

// Ready is closed when every grant recorded before has been read.
func (b *Grants) Ready() <-chan struct{} { return b.ready }

// keep takes over a grant as it stands at a revision.
func (b *Grants) keep(g approvals.Grant, revision uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(g, revision)
}

func (b *Grants) keepLocked(g approvals.Grant, revision uint64) {
	if _, gone := b.gone[g.ID]; gone {
		return
	}
	known, exists := b.byID[g.ID]
	if exists && revision <= known.revision {
		return
	}
	b.byID[g.ID] = keptGrant{g, revision}
	if exists { // only how often it was used changes
		return
	}
	place, _ := slices.BinarySearch(b.ordered, g.ID)
	b.ordered = slices.Insert(b.ordered, place, g.ID)
	b.kept(g)
}

// drop takes over that the store no longer has a grant. It never has it again, so
// that a write which is only now acknowledged does not bring it back.
func (b *Grants) drop(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone[id] = b.now()
	if _, exists := b.byID[id]; !exists {
		return
	}
	delete(b.byID, id)
	delete(b.used, id)
	if at, found := slices.BinarySearch(b.ordered, id); found {
		b.ordered = slices.Delete(b.ordered, at, at+1)
	}
	b.dropped(id)
}

// Grant is a grant that was neither revoked nor is long over. It fails with
// [ErrUnknownGrant].
func (b *Grants) Grant(id string) (approvals.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, ok := b.byID[id]
	if !ok {
		return approvals.Grant{}, fmt.Errorf("grant %q: %w", id, approvals.ErrUnknownGrant)
	}
	return b.viewLocked(g), nil
}

const (
	defaultGrantPage = 50
	maxGrantPage     = 500
)

// Grants lists grants from memory, newest first.
func (b *Grants) Grants(f approvals.GrantFilter) approvals.GrantPage {
	f.Limit = min(f.Limit, maxGrantPage)
	if f.Limit <= 0 {
		f.Limit = defaultGrantPage
	}
	now := b.now()
	page := approvals.GrantPage{Items: []approvals.Grant{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range slices.Backward(b.ordered) {
		g := b.byID[id]
		if !f.Matches(&g.Grant, now) || f.Tool != "" && !b.judge.GrantIsFor(g.Grant, f.Tool) {
			continue
		}
		if len(page.Items) == f.Limit {
			page.NextCursor = page.Items[f.Limit-1].ID
			break
		}
		page.Items = append(page.Items, b.viewLocked(g))
	}
	return page
}

// viewLocked is a grant as it is shown: what was not yet written of its uses
// counts.
func (b *Grants) viewLocked(k keptGrant) approvals.Grant {
	g := k.Grant
	g.Patterns = slices.Clone(g.Patterns)
	b.used[g.ID].addTo(&g)
	return g
}
