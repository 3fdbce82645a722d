package approvals

import (
	"context"
	"iter"
	"time"
)

// Stored is a request as the store holds it.
type Stored struct {
	Request  Request
	Revision uint64    // changes with every write; what [Store.UpdateRequest] compares
	At       time.Time // when this revision was written, UTC
}

// Store is the durable state of a gate. A method that writes returns after the write is
// durable. Failures to reach
// the store wrap [ErrStoreUnavailable]; a record beyond the store's limit is
// [ErrTooLarge]. Implementations are safe for concurrent use.
type Store interface {
	RequestStore
	EventStore
	Runs() Records[Run]
	Signals() Records[PrincipalSignal]
	Delegations() Records[Delegation]
}

// RequestStore is the part of a [Store] that has the requests.
type RequestStore interface {
	// CreateRequest records a request that must not exist yet ([ErrConflict]).
	CreateRequest(ctx context.Context, r Request) (revision uint64, err error)
	// GetRequest reads a request, or fails with [ErrUnknownRequest].
	GetRequest(ctx context.Context, id string) (Stored, error)
	// MissingRequests returns those of the ids that have no record. It need not read the records.
	MissingRequests(ctx context.Context, ids []string) (missing []string, err error)
	// UpdateRequest replaces a request if it is still at the revision, else
	// it fails with [ErrConflict]. A write whose outcome was lost on the way is
	// resolved before it returns.
	UpdateRequest(ctx context.Context, r Request, revision uint64) (newRevision uint64, err error)
	// ListRequests finds the requests that match in an index, newest first, and reads
	// them. With a Filter.Text it reads until the page is full or it has read many: such a
	// page may be short or empty although more follow.
	ListRequests(ctx context.Context, f Filter) (Page, error)
	// WatchRequests calls changed with every request that is not closed, then loaded once,
	// then changed with every later write of any replica. It calls them from one goroutine,
	// reports each revision once, continues after a reconnect, and returns when the context
	// ends.
	WatchRequests(ctx context.Context, changed func(Stored), loaded func()) error
	// CloseRequest marks a final request as closed, if it is still at a revision: nothing waits
	// for it, so a later WatchRequests need not report it. A later revision is open again. The
	// store may forget the mark.
	CloseRequest(id string, revision uint64)
	// PublishRequest publishes a request to bots. A second call for the same
	// request does nothing.
	PublishRequest(ctx context.Context, r Request) error
}

// EventStore is the part of a [Store] that has the audit log.
type EventStore interface {
	// AppendEvents adds to the audit chain.
	AppendEvents(ctx context.Context, events ...Event) error
	// EnsureEvent appends an event unless one with its id is in the chain.
	EnsureEvent(ctx context.Context, e Event) error
	// HasEvent reports whether an event of the type, the tenant and the request of e is in the chain.
	HasEvent(ctx context.Context, e Event) (bool, error)
	// Events yields events in order from a sequence on (0: from the next one) and waits
	// for new ones. It stops without an error when the context ends.
	Events(ctx context.Context, from uint64) iter.Seq2[Event, error]
	// LastSeq is the sequence number of the latest event, 0 for none.
	LastSeq(ctx context.Context) (uint64, error)
}

// Records is the part of a [Store] that has the records of one type.
type Records[T any] interface {
	// Put replaces a record if it is still at the revision (0: it must not exist), else
	// it fails with [ErrConflict].
	Put(ctx context.Context, record T, revision uint64) error
	// Get reads a record, or fails with [ErrUnknownRun], [ErrUnknownSignal] or
	// [ErrUnknownDelegation].
	Get(ctx context.Context, id string) (record T, revision uint64, err error)
	// Watch is [RequestStore.WatchRequests] for the records, which are never closed.
	Watch(ctx context.Context, changed func(T), loaded func()) error
}

// GrantStore is the durable state of grants. The rules of [Store] hold for its methods.
type GrantStore interface {
	// PutGrant replaces a grant that is at the revision (0: it never existed),
	// else it fails with [ErrConflict]. One that was deleted stays so.
	PutGrant(ctx context.Context, g Grant, revision uint64) (newRevision uint64, err error)
	// GetGrant reads a grant, or fails with [ErrUnknownGrant].
	GetGrant(ctx context.Context, id string) (g Grant, revision uint64, err error)
	// DeleteGrant removes a grant. A missing grant is not an error.
	DeleteGrant(ctx context.Context, id string) error
	// WatchGrants is [RequestStore.WatchRequests] for grants. It calls gone with the id
	// of a deleted grant.
	WatchGrants(ctx context.Context, changed func(g Grant, revision uint64), gone func(id string), loaded func()) error

	// EnsureEvent appends an event unless one with its id is in the audit chain.
	EnsureEvent(ctx context.Context, e Event) error
	// RecentEvents yields the last n events, oldest first.
	RecentEvents(ctx context.Context, n int) iter.Seq2[Event, error]
}

// Filter selects requests; zero fields select all. Limit is the size of a page:
// 0 means 50, the most is 500. Cursor is the NextCursor of the page before.
type Filter struct {
	Status    Status
	Kind      Kind
	SessionID string
	RunID     string
	Risk      Risk
	Tenants   TenantScope
	Text      string // words that are all in the request: see [Search]
	Cursor    string
	Limit     int
}

// Check returns an [*InvalidError] for a text that is too long.
func (f *Filter) Check() error {
	if len(f.Text) > maxSearch {
		return Invalid("q", "has %d bytes, the limit is %d; search for fewer words", len(f.Text), maxSearch)
	}
	return nil
}

// Matches reports whether the filter selects a request. It ignores Text.
func (f Filter) Matches(r *Request) bool {
	return (f.Status == "" || f.Status == r.Status) &&
		(f.Kind == "" || f.Kind == r.Kind) &&
		(f.SessionID == "" || f.SessionID == r.SessionID) &&
		(f.RunID == "" || f.RunID == r.RunID) &&
		(f.Risk == "" || f.Risk == r.RiskLevel) &&
		f.Tenants.Has(r.Principal.Tenant)
}

// Page is one page of a list, newest first. NextCursor is "" on the last page
// and stays valid whatever is added meanwhile.
type Page struct {
	Items      []Request `json:"items"`
	NextCursor string    `json:"next_cursor"`
}

// Truncate keeps the first n items; the next page begins after them.
func (p *Page) Truncate(n int) {
	p.Items, p.NextCursor = firstPage(p.Items, n, p.NextCursor, func(r *Request) string { return r.ID })
}

// firstPage returns the first n items, and the cursor of the next page: next if there are
// no more items.
func firstPage[T any](items []T, n int, next string, id func(*T) string) (page []T, cursor string) {
	if n <= 0 || n >= len(items) {
		return items, next
	}
	return items[:n], id(&items[n-1])
}
