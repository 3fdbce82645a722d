package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// Limits of the store in JetStream.
const (
	decisionRoom = 16 << 10 // what a decision adds to a request at least, in bytes
	defaultPage  = 50
	maxPage      = 500
	pageBytes    = 8 << 20 // of large fields, after which a page ends early
)

// Requests are the records of requests.
type Requests struct{ records *Records[approvals.Request] }

func newRequests(p *process) *Requests {
	return &Requests{newRecords(p, &p.memory.requests, "request", approvals.ErrUnknownRequest, func(r *approvals.Request) string { return r.ID })}
}

// CreateRequest records a new request, or fails with [approvals.ErrConflict].
func (s *Requests) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	return s.put(ctx, r, 0, maxRecord/2-decisionRoom)
}

// UpdateRequest replaces a request whose record is at a revision, else it fails with
// [approvals.ErrConflict].
func (s *Requests) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	return s.put(ctx, r, revision, maxRecord-decisionRoom/4)
}

func (s *Requests) put(ctx context.Context, r approvals.Request, revision uint64, limit int) (uint64, error) {
	written, err := s.records.put(ctx, r, revision, limit)
	if errors.Is(err, approvals.ErrTooLarge) {
		return 0, fmt.Errorf("tool %q: %w", r.ToolName, err)
	}
	return written, err
}

// GetRequest reads a request, or fails with [approvals.ErrUnknownRequest].
func (s *Requests) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	request, at, err := s.records.get(ctx, id)
	return approvals.Stored{Request: request, Revision: at.revision, At: at.at}, err
}

// ListRequests lists requests, newest first. A page of large requests ends early, with a cursor.
func (s *Requests) ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	if f.Limit = min(f.Limit, maxPage); f.Limit <= 0 {
		f.Limit = defaultPage
	}
	page := approvals.Page{Items: []approvals.Request{}}
	rows, err := s.candidates(ctx, f)
	if err != nil {
		return page, err
	}
	search, size := approvals.NewSearch(f.Text), 0
	for _, at := range rows {
		r := s.records.decode(at)
		if !f.Matches(&r) || !search.Finds(&r) {
			continue
		}
		if len(page.Items) == f.Limit || size >= pageBytes {
			page.NextCursor = page.Items[len(page.Items)-1].ID
			return page, nil
		}
		page.Items, size = append(page.Items, r), size+r.Size()
	}
	return page, nil
}

// candidates returns the rows before a cursor that may match a filter, newest first. Rows of other runs
// and sessions are left out before they are decoded, which is most of the work of a list.
func (s *Requests) candidates(ctx context.Context, f approvals.Filter) (rows []row, err error) {
	var ids [][]byte // in JSON
	for _, id := range []string{f.RunID, f.SessionID} {
		encoded, err := approvals.EncodeJSON(id)
		if err != nil {
			return nil, fmt.Errorf("list requests: %w", err)
		}
		if id != "" {
			ids = append(ids, encoded)
		}
	}
	mayMatch := func(value []byte) bool {
		return !slices.ContainsFunc(ids, func(id []byte) bool { return !bytes.Contains(value, id) })
	}
	err = s.records.process.do(ctx, "list requests", func() error {
		for id, at := range s.records.table.rows {
			if (f.Cursor == "" || id < f.Cursor) && mayMatch(at.value) {
				rows = append(rows, at)
			}
		}
		return nil
	})
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(b.key, a.key) })
	return rows, err
}

// MissingRequests returns those of the ids that have no record.
func (s *Requests) MissingRequests(ctx context.Context, ids []string) (missing []string, err error) {
	err = s.records.process.do(ctx, "look for requests", func() error {
		for _, id := range ids {
			if _, exists := s.records.table.rows[id]; !exists {
				missing = append(missing, id)
			}
		}
		return nil
	})
	return missing, err
}

// WatchRequests calls changed with every request that is not closed, and then with every change of any
// request.
func (s *Requests) WatchRequests(ctx context.Context, changed func(approvals.Stored), whenLoaded func()) error {
	var closed map[string]uint64 // at the start
	s.records.process.locked(func() { closed = maps.Clone(s.records.process.memory.closed) })
	return s.records.process.watch(ctx, s.records.table, watched{current: loaded(whenLoaded), change: func(at row) {
		if closed[at.key] != at.revision {
			changed(approvals.Stored{Request: s.records.decode(at), Revision: at.revision, At: at.at})
		}
	}})
}

// CloseRequest marks a request as closed, if it is still at a revision.
func (s *Requests) CloseRequest(id string, revision uint64) {
	s.records.process.locked(func() {
		if s.records.table.find(id).revision == revision {
			s.records.process.memory.closed[id] = revision
		}
	})
}

// PublishRequest publishes a request, once.
func (s *Requests) PublishRequest(ctx context.Context, r approvals.Request) error {
	payload, err := approvals.EncodeJSON(r)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", r.ID, err)
	}
	return s.records.process.do(ctx, "publish request "+r.ID, func() error {
		if m := s.records.process.memory; m.published[r.ID] == nil {
			m.published[r.ID] = payload
		}
		return nil
	})
}

// Published returns the JSON of a request as it was published to bots, nil if it was not.
func (s *Requests) Published(id string) (payload []byte) {
	s.records.process.locked(func() { payload = s.records.process.memory.published[id] })
	return payload
}

// ForgetClosed forgets which requests are closed, as a store may.
func (s *Requests) ForgetClosed() {
	s.records.process.locked(func() { clear(s.records.process.memory.closed) })
}
