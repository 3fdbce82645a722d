// Package grants keeps the grants of a deployment: [Grants] has a copy of the stored grants
// in memory, writes grants and counts their uses. Read this file first.
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

// Judge is the part of policy that a [Grants] needs.
type Judge interface {
	// CheckGrant completes a grant by its template and by the request whose decision it
	// remembers; r is nil for a grant that is made by hand. It fails with
	// [*approvals.InvalidError] if policy does not permit the grant.
	CheckGrant(g approvals.Grant, r *approvals.Request) (approvals.Grant, error)
	// GrantCovers returns a function that reports whether the grant would decide the call
	// of an event, whatever its principal.
	GrantCovers(g approvals.Grant) func(approvals.Event) bool
	// GrantIsFor reports whether any pattern is for a tool.
	GrantIsFor(g approvals.Grant, tool string) bool
}

// Options are the settings of [New].
type Options struct {
	Store approvals.GrantStore
	Judge Judge
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: discards
	// Kept is called with every grant that comes into force, Dropped with the id of every
	// grant that was deleted, by this replica or another. They are not called
	// concurrently and must not block. Nil: not called.
	Kept    func(approvals.Grant)
	Dropped func(id string)
	// MaskWritten replaces secrets by their handles in what a person has written, before it is stored. Each field is a
	// pointer to a value of JSON. Nil: there are none.
	MaskWritten func(ctx context.Context, fields ...any) error
	// NoSelfApproval refuses grants of reviewers for agents that act for them: see
	// gate.Options. Principals returns those of the configuration; a grant for a tenant covers
	// them; nil: there are none. Profile returns the groups and the user of a reviewer; nil: none is known.
	NoSelfApproval bool
	Principals     func() []approvals.Principal
	Profile        func(name string) (approvals.ReviewerProfile, bool)
}

// Grants has a copy of the stored grants in memory, so that no call waits for the store. It
// writes grants and counts their uses. Any number of Grants may share one store. It is safe
// for concurrent use.
type Grants struct {
	store   approvals.GrantStore
	judge   Judge
	now     func() time.Time
	log     *slog.Logger
	kept    func(approvals.Grant)
	dropped func(string)
	ids     approvals.IDSource
	ready   chan struct{}
	rights  rights
	// maskWritten is [Options.MaskWritten].
	maskWritten func(ctx context.Context, fields ...any) error

	mu      sync.Mutex
	byID    map[string]storedGrant
	ordered []string             // ids, ascending: in the order of creation
	removed map[string]time.Time // when each was removed, for keepRemoved
	used    map[string]use       // not yet written
	// unfinished writes the records of grants whose events are in the log, and whose writes failed.
	unfinished map[string]func(context.Context) error
}

// storedGrant is a grant at a revision of the store.
type storedGrant struct {
	approvals.Grant
	revision uint64
}

// New returns a Grants without grants; [Grants.Run] reads them.
func New(o Options) *Grants {
	gs := &Grants{
		store: o.Store, judge: o.Judge, now: o.Now, log: o.Log, kept: o.Kept, dropped: o.Dropped,
		rights:      rights{o.NoSelfApproval, o.Principals, o.Profile},
		maskWritten: o.MaskWritten, ready: make(chan struct{}), byID: map[string]storedGrant{}, removed: map[string]time.Time{}, used: map[string]use{}, unfinished: map[string]func(context.Context) error{},
	}
	if gs.now == nil {
		gs.now = time.Now
	}
	if gs.log == nil {
		gs.log = slog.New(slog.DiscardHandler)
	}
	if gs.maskWritten == nil {
		gs.maskWritten = func(context.Context, ...any) error { return nil }
	}
	if gs.kept == nil {
		gs.kept = func(approvals.Grant) {}
	}
	if gs.dropped == nil {
		gs.dropped = func(string) {}
	}
	if gs.rights.principals == nil {
		gs.rights.principals = func() []approvals.Principal { return nil }
	}
	if gs.rights.profile == nil {
		gs.rights.profile = func(string) (approvals.ReviewerProfile, bool) { return approvals.ReviewerProfile{}, false }
	}
	return gs
}

// Run watches the store and writes uses until the context ends. Call it once.
func (gs *Grants) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return gs.store.WatchGrants(ctx, gs.apply, gs.remove, func() { close(gs.ready) })
	})
	group.Go(func() error { return gs.runUses(ctx) })
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch the grants: %w", err)
	}
	return nil
}

// Ready is closed when all recorded grants have been read.
func (gs *Grants) Ready() <-chan struct{} { return gs.ready }

// apply stores a revision of a grant in memory.
func (gs *Grants) apply(g approvals.Grant, revision uint64) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.applyLocked(g, revision)
}

func (gs *Grants) applyLocked(g approvals.Grant, revision uint64) {
	if _, removed := gs.removed[g.ID]; removed {
		return
	}
	known, exists := gs.byID[g.ID]
	if exists && revision <= known.revision {
		return
	}
	gs.byID[g.ID] = storedGrant{g, revision}
	if exists { // only how often it was used changes
		return
	}
	place, _ := slices.BinarySearch(gs.ordered, g.ID)
	gs.ordered = slices.Insert(gs.ordered, place, g.ID)
	gs.kept(g)
}

// remove removes a deleted grant from memory. Writes that are acknowledged later do not add
// it again.
func (gs *Grants) remove(id string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.removed[id] = gs.now()
	if _, exists := gs.byID[id]; !exists {
		return
	}
	delete(gs.byID, id)
	delete(gs.used, id)
	if at, found := slices.BinarySearch(gs.ordered, id); found {
		gs.ordered = slices.Delete(gs.ordered, at, at+1)
	}
	gs.dropped(id)
}

// Grant returns a grant that was not deleted, or [approvals.ErrUnknownGrant].
func (gs *Grants) Grant(id string) (approvals.Grant, error) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g, ok := gs.byID[id]
	if !ok {
		return approvals.Grant{}, fmt.Errorf("grant %q: %w", id, approvals.ErrUnknownGrant)
	}
	return gs.viewLocked(g), nil
}

const (
	defaultGrantPage = 50
	maxGrantPage     = 500
)

// Grants lists grants from memory, newest first.
func (gs *Grants) Grants(f approvals.GrantFilter) approvals.GrantPage {
	f.Limit = min(f.Limit, maxGrantPage)
	if f.Limit <= 0 {
		f.Limit = defaultGrantPage
	}
	now := gs.now()
	page := approvals.GrantPage{Items: []approvals.Grant{}}
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, id := range slices.Backward(gs.ordered) {
		g := gs.byID[id]
		if !f.Matches(&g.Grant, now) || (f.Tool != "" && !gs.judge.GrantIsFor(g.Grant, f.Tool)) {
			continue
		}
		if len(page.Items) == f.Limit {
			page.NextCursor = page.Items[f.Limit-1].ID
			break
		}
		page.Items = append(page.Items, gs.viewLocked(g))
	}
	return page
}

// viewLocked returns a grant with the uses that are not written yet.
func (gs *Grants) viewLocked(k storedGrant) approvals.Grant {
	g := k.Grant
	g.Patterns = slices.Clone(g.Patterns)
	gs.used[g.ID].addTo(&g)
	return g
}
