package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

const (
	defaultPage = 50
	maxPage     = 500
	listReads   = 8       // records read at the same time
	listBatch   = 16      // records read before a list looks how large it is
	listBytes   = 8 << 20 // of large fields, after which a list ends early
	// decisionRoom is what a decision adds to a request at least; edited
	// arguments may double it, so a request may be half of a record.
	decisionRoom = 16 << 10
)

// Requests are the records of requests, and the index that lists are searched in.
type Requests struct {
	records   Records[approvals.Request]
	index     *requestIndex
	searching chan struct{} // one for each search at this time
}

func newRequests(b bucket) *Requests {
	return &Requests{
		records:   Records[approvals.Request]{bucket: b, kind: "request", unknown: approvals.ErrUnknownRequest, id: func(r *approvals.Request) string { return r.ID }},
		index:     newRequestIndex(),
		searching: make(chan struct{}, maxSearches),
	}
}

// CreateRequest records a new request, or fails with [approvals.ErrConflict].
func (s *Requests) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	return s.put(ctx, r, 0, s.records.backend.maxRecord()/2-decisionRoom)
}

// UpdateRequest replaces a request whose record is at a revision, else it fails with
// [approvals.ErrConflict].
func (s *Requests) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	return s.put(ctx, r, revision, s.records.backend.maxRecord()-decisionRoom/4)
}

func (s *Requests) put(ctx context.Context, r approvals.Request, revision uint64, limit int) (uint64, error) {
	written, err := s.records.put(ctx, r, revision, limit)
	if errors.Is(err, approvals.ErrTooLarge) {
		return 0, fmt.Errorf("tool %q: %w", r.ToolName, err)
	}
	if err == nil {
		s.index.put(r, written, time.Now())
	}
	return written, err
}

// GetRequest reads a request, or fails with [approvals.ErrUnknownRequest].
func (s *Requests) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	stored, err := s.records.get(ctx, id)
	return approvals.Stored{Request: stored.value, Revision: stored.revision, At: stored.at}, err
}

// ListRequests lists requests, newest first. A page of large requests ends early, with
// a cursor. The index that it searches is kept by [Requests.WatchRequests].
func (s *Requests) ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	switch {
	case f.Limit <= 0:
		f.Limit = defaultPage
	case f.Limit > maxPage:
		f.Limit = maxPage
	}
	if f.Text != "" {
		return s.search(ctx, f)
	}
	page := approvals.Page{Items: []approvals.Request{}}
	batch, bytes := f, 0
	for len(page.Items) < f.Limit && bytes < listBytes {
		batch.Limit = min(listBatch, f.Limit-len(page.Items))
		ids, more := s.index.search(batch)
		found, err := s.read(ctx, f, ids)
		if err != nil {
			return approvals.Page{}, err
		}
		page.Items = append(page.Items, found...)
		if !more {
			page.NextCursor = ""
			break
		}
		batch.Cursor = ids[len(ids)-1]
		page.NextCursor = batch.Cursor
		for i := range found {
			bytes += found[i].Size()
		}
	}
	return page, nil
}

// read reads those of the requests that a filter still selects.
func (s *Requests) read(ctx context.Context, f approvals.Filter, ids []string) ([]approvals.Request, error) {
	read := make([]*approvals.Request, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReads)
	for i, id := range ids {
		group.Go(func() error {
			stored, err := s.GetRequest(ctx, id)
			if err == nil && f.Matches(&stored.Request) { // it may have moved on
				read[i] = &stored.Request
			}
			return skipUnknown(err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := []approvals.Request{}
	for _, r := range read {
		if r != nil {
			found = append(found, *r)
		}
	}
	return found, nil
}

// WatchRequests calls changed with every request and every change of one.
func (s *Requests) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	return s.records.watch(ctx, func(r record[approvals.Request]) {
		if s.index.put(r.value, r.revision, r.at) {
			changed(approvals.Stored{Request: r.value, Revision: r.revision, At: r.at})
		}
	}, s.index.remove, loaded)
}

// PublishRequest publishes a request for bots, once.
func (s *Requests) PublishRequest(ctx context.Context, r approvals.Request) error {
	payload, err := approvals.EncodeJSON(r)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", r.ID, err)
	}
	backend := s.records.backend
	return backend.write(ctx, opPublish, "publish request "+r.ID, func(ctx context.Context) error {
		_, err := backend.js.Publish(ctx, subjects.OfRequest(r), payload,
			jetstream.WithExpectStream(subjects.StreamRequests), jetstream.WithExpectLastSequencePerSubject(0))
		if wrongSequence(err) {
			return nil // it was published before
		}
		return err
	})
}
