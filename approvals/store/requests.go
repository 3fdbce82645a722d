package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
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

// CreateRequest records a new request.
func (s *Store) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	return s.putRequest(ctx, r, 0, s.maxRecord()/2-decisionRoom)
}

// UpdateRequest replaces a request that stands at a revision.
func (s *Store) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	return s.putRequest(ctx, r, revision, s.maxRecord()-decisionRoom/4)
}

func (s *Store) putRequest(ctx context.Context, r approvals.Request, revision uint64, limit int) (uint64, error) {
	value, err := encode(r)
	if err != nil {
		return 0, fmt.Errorf("encode request %s: %w", r.ID, err)
	}
	if len(value) > limit {
		return 0, fmt.Errorf("request %s (tool %q) has %d bytes, the limit is %d: %w", r.ID, r.ToolName, len(value), limit, approvals.ErrTooLarge)
	}
	written, err := s.compareAndSet(ctx, s.requests, Token(r.ID), value, revision)
	if err == nil {
		s.index.put(r, written, time.Now())
	}
	return written, err
}

// GetRequest reads a request.
func (s *Store) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	entry, err := s.get(ctx, s.requests, Token(id), approvals.ErrUnknownRequest)
	if err != nil {
		return approvals.Stored{}, err
	}
	return decodeRequest(entry)
}

func decodeRequest(entry jetstream.KeyValueEntry) (approvals.Stored, error) {
	stored := approvals.Stored{Revision: entry.Revision(), At: entry.Created().UTC()}
	if err := json.Unmarshal(entry.Value(), &stored.Request); err != nil {
		return stored, fmt.Errorf("read request %s: %w: %w", entry.Key(), approvals.ErrStoreUnavailable, err)
	}
	if Token(stored.Request.ID) != entry.Key() {
		return stored, fmt.Errorf("read request %s: %w: the record is of request %q", entry.Key(), approvals.ErrStoreUnavailable, stored.Request.ID)
	}
	return stored, nil
}

// ListRequests lists requests, newest first. A page of large requests ends early, with
// a cursor. The index that it searches is kept by [Store.WatchRequests].
func (s *Store) ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	switch {
	case f.Limit <= 0:
		f.Limit = defaultPage
	case f.Limit > maxPage:
		f.Limit = maxPage
	}
	if f.Text != "" {
		return s.searchRequests(ctx, f)
	}
	page := approvals.Page{Items: []approvals.Request{}}
	batch, bytes := f, 0
	for len(page.Items) < f.Limit && bytes < listBytes {
		batch.Limit = min(listBatch, f.Limit-len(page.Items))
		ids, more := s.index.search(batch)
		found, err := s.readRequests(ctx, f, ids)
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

// readRequests reads those of the requests that a filter still selects.
func (s *Store) readRequests(ctx context.Context, f approvals.Filter, ids []string) ([]approvals.Request, error) {
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

// WatchRequests tells of every request and every change of one.
func (s *Store) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	return s.watch(ctx, watched{
		bucket: s.requests,
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			if entry.Operation() != jetstream.KeyValuePut {
				s.index.remove(entry.Key())
				return
			}
			stored, err := decodeRequest(entry)
			if err != nil {
				s.log.Error("a record of a request cannot be read", "key", entry.Key(), "error", err)
				return
			}
			if s.index.put(stored.Request, stored.Revision, stored.At) {
				changed(stored)
			}
		},
	})
}

// PublishRequest tells bots of a request, once.
func (s *Store) PublishRequest(ctx context.Context, r approvals.Request) error {
	payload, err := encode(r)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", r.ID, err)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return s.fail(opPublish, "publish request "+r.ID, err)
	}
	defer done()
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err = s.js.Publish(ctx, requestSubject(r), payload,
		jetstream.WithExpectStream(StreamRequests), jetstream.WithExpectLastSequencePerSubject(0))
	if err != nil && !wrongSequence(err) {
		return s.fail(opPublish, "publish request "+r.ID, err)
	}
	return nil
}
