package approvals

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// GrantStore is the durable state behind a [GrantBook]. What [Store] says of its
// methods holds of these too.
type GrantStore interface {
	// PutGrant replaces a grant that stands at the revision (0: it never existed),
	// else it fails with [ErrConflict]. One that was deleted stays so.
	PutGrant(ctx context.Context, g Grant, revision uint64) (newRevision uint64, err error)
	// GetGrant reads a grant, or fails with [ErrUnknownGrant].
	GetGrant(ctx context.Context, id string) (g Grant, revision uint64, err error)
	// DeleteGrant removes a grant. One that is not there is no error.
	DeleteGrant(ctx context.Context, id string) error
	// WatchGrants is [Store.WatchRequests] for grants; gone is called with the id
	// of one that was deleted.
	WatchGrants(ctx context.Context, changed func(g Grant, revision uint64), gone func(id string), loaded func()) error

	// EnsureEvent appends an event unless one with its id is in the audit chain.
	EnsureEvent(ctx context.Context, e Event) error
	// RecentEvents yields the last n events, oldest first.
	RecentEvents(ctx context.Context, n int) iter.Seq2[Event, error]
}

// GrantJudge is what a [GrantBook] asks of policy.
type GrantJudge interface {
	// CheckGrant completes a grant - its template, the patterns suggested for the
	// request whose decision it remembers - and says with an [*InvalidError] why
	// it may not be. r is nil for a grant that is made by hand.
	CheckGrant(g Grant, r *Request) (Grant, error)
	// GrantCovers makes of a grant what reports whether it would decide a call that
	// an event recorded, whosever call it is.
	GrantCovers(g Grant) func(Event) bool
	// GrantIsFor reports whether any pattern is for a tool of a name.
	GrantIsFor(g Grant, tool string) bool
}

// GrantBookOptions is what a [GrantBook] is made of.
type GrantBookOptions struct {
	Store GrantStore
	Judge GrantJudge
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: discards
	// Kept is told of every grant that comes into force, Dropped of every one that
	// is revoked or long over, on whichever replica that happened. They are called
	// one after the other and must not wait; nil: nobody is told.
	Kept    func(Grant)
	Dropped func(id string)
	// NoSelfApproval keeps reviewers from granting what an agent may do that acts
	// for themselves: see [GateOptions]. Principals are those whose agents are
	// known, which a grant for a tenant covers, and Standing what is known of a
	// reviewer; nil: nothing of anybody.
	NoSelfApproval bool
	Principals     []Principal
	Standing       func(name string) (Standing, bool)
}

// GrantBook keeps the grants: a copy of them in memory that follows the store,
// so that nobody waits for it, what is written to it, and how often each is
// used. Any number of books may share one store. It is safe for concurrent use.
type GrantBook struct {
	store   GrantStore
	judge   GrantJudge
	now     func() time.Time
	log     *slog.Logger
	kept    func(Grant)
	dropped func(string)
	ids     ulidSource
	ready   chan struct{}
	// noSelfApproval, principals and standing: see GrantBookOptions.
	noSelfApproval bool
	principals     []Principal
	standing       func(string) (Standing, bool)

	mu      sync.Mutex
	byID    map[string]keptGrant
	ordered []string             // ids, ascending: in the order of creation
	gone    map[string]time.Time // when each was dropped, for as long as keepGone
	used    map[string]use       // not yet written
}

// keptGrant is a grant as the store has it at a revision.
type keptGrant struct {
	Grant
	revision uint64
}

// NewGrantBook makes a book. It knows no grants until [GrantBook.Run] has read
// them.
func NewGrantBook(o GrantBookOptions) *GrantBook {
	b := &GrantBook{
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
		b.kept = func(Grant) {}
	}
	if b.dropped == nil {
		b.dropped = func(string) {}
	}
	if b.standing == nil {
		b.standing = func(string) (Standing, bool) { return Standing{}, false }
	}
	return b
}

// Run follows the store and writes what was used until the context ends. Call it
// once.
func (b *GrantBook) Run(ctx context.Context) error {
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
func (b *GrantBook) Ready() <-chan struct{} { return b.ready }

// keep takes over a grant as it stands at a revision.
func (b *GrantBook) keep(g Grant, revision uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(g, revision)
}

func (b *GrantBook) keepLocked(g Grant, revision uint64) {
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
func (b *GrantBook) drop(id string) {
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
func (b *GrantBook) Grant(id string) (Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, ok := b.byID[id]
	if !ok {
		return Grant{}, fmt.Errorf("grant %q: %w", id, ErrUnknownGrant)
	}
	return b.viewLocked(g), nil
}

const (
	defaultGrantPage = 50
	maxGrantPage     = 500
)

// Grants lists grants from memory, newest first.
func (b *GrantBook) Grants(f GrantFilter) GrantPage {
	f.Limit = min(f.Limit, maxGrantPage)
	if f.Limit <= 0 {
		f.Limit = defaultGrantPage
	}
	now := b.now()
	page := GrantPage{Items: []Grant{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range slices.Backward(b.ordered) {
		g := b.byID[id]
		if !f.matches(&g.Grant, now) || f.Tool != "" && !b.judge.GrantIsFor(g.Grant, f.Tool) {
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
func (b *GrantBook) viewLocked(k keptGrant) Grant {
	g := k.Grant
	g.Patterns = slices.Clone(g.Patterns)
	b.used[g.ID].addTo(&g)
	return g
}
