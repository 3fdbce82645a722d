package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/requestindex"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// decisionRoom is what a decision adds to a request at least, in bytes. Edited arguments
// may double a request, so a new one is at most half of a record.
const decisionRoom = 16 << 10

// loadBatch is the number of open requests in memory at a time while they are loaded.
const loadBatch = 64

// Requests are the records of requests, and the index for lists.
type Requests struct {
	records   Records[approvals.Request]
	index     *requestindex.Index
	searching chan struct{} // one for each search in progress
}

func newRequests(b natskv.Bucket, index *requestindex.Index) *Requests {
	return &Requests{
		records:   Records[approvals.Request]{bucket: b, kind: "request", unknown: approvals.ErrUnknownRequest, id: func(r *approvals.Request) string { return r.ID }},
		index:     index,
		searching: make(chan struct{}, maxSearches),
	}
}

// CreateRequest records a new request, or fails with [approvals.ErrConflict].
func (s *Requests) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	return s.put(ctx, r, 0, s.records.bucket.Backend.MaxRecord()/2-decisionRoom)
}

// UpdateRequest replaces a request whose record is at a revision, else it fails with
// [approvals.ErrConflict].
func (s *Requests) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	return s.put(ctx, r, revision, s.records.bucket.Backend.MaxRecord()-decisionRoom/4)
}

func (s *Requests) put(ctx context.Context, r approvals.Request, revision uint64, limit int) (uint64, error) {
	written, err := s.records.put(ctx, r, revision, limit)
	if errors.Is(err, approvals.ErrTooLarge) {
		return 0, fmt.Errorf("tool %q: %w", r.ToolName, err)
	}
	if err == nil {
		s.index.Put(&r, written, time.Now())
	}
	return written, err
}

// GetRequest reads a request, or fails with [approvals.ErrUnknownRequest].
func (s *Requests) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	stored, err := s.records.get(ctx, id)
	return approvals.Stored{Request: stored.value, Revision: stored.revision, At: stored.at}, err
}

// WatchRequests calls changed with every request that is not closed, and then with every change of
// any request. It reads revisions that the index does not cover from the bucket.
func (s *Requests) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	covered := s.index.Covered()
	if err := s.loadOpen(ctx, covered, changed); err != nil {
		return err
	}
	complete := true // else the next start reads again what a version that can read it must not miss
	entry := func(r record[approvals.Request], err error) {
		if err == nil && s.index.Put(&r.value, r.revision, r.at) {
			changed(approvals.Stored{Request: r.value, Revision: r.revision, At: r.at})
		}
		if complete = complete && err == nil; complete {
			s.index.Cover(r.revision)
		}
	}
	return s.records.watchAll(ctx, entry, s.index.Remove, natskv.Watched{After: covered, Current: natskv.Loaded(loaded)})
}

// CloseRequest marks a request as closed, if it is still at a revision.
func (s *Requests) CloseRequest(id string, revision uint64) { s.index.CloseRequest(id, revision) }

// loadOpen calls changed with the requests that are not closed and whose last revision is at most
// upTo, the oldest first. It tries again until it can read them or the context ends.
func (s *Requests) loadOpen(ctx context.Context, upTo uint64, changed func(approvals.Stored)) error {
	ids, err := s.index.OpenRequests()
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, loadBatch) {
		read := make([]*approvals.Stored, len(part))
		group := errgroup.Group{}
		group.SetLimit(listReads)
		for i, id := range part {
			group.Go(func() (err error) { read[i], err = s.load(ctx, id); return err })
		}
		if err := group.Wait(); err != nil {
			return nil // the context has ended
		}
		for _, stored := range read {
			if stored != nil && stored.Revision <= upTo {
				changed(*stored)
			}
		}
	}
	return nil
}

// load reads an open request, nil if there is none or it cannot be read. It tries again until
// the store answers; its error is that of the context.
func (s *Requests) load(ctx context.Context, id string) (*approvals.Stored, error) {
	for attempt := 0; ; attempt++ {
		stored, err := s.GetRequest(ctx, id)
		switch {
		case err == nil:
			return &stored, nil
		case errors.Is(err, approvals.ErrUnknownRequest):
			s.index.Remove(id)
			return nil, nil
		case errors.Is(err, errUnreadable):
			s.records.bucket.Backend.Log.Error("failed to read a record", "kind", s.records.kind, "key", id, "error", err)
			return nil, nil
		}
		if err := approvals.Pause(ctx, attempt); err != nil {
			return nil, err
		}
	}
}

// PublishRequest publishes a request to bots, once.
func (s *Requests) PublishRequest(ctx context.Context, r approvals.Request) error {
	payload, err := approvals.EncodeJSON(r)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", r.ID, err)
	}
	backend := s.records.bucket.Backend
	return backend.Write(ctx, natskv.OpPublish, "publish request "+r.ID, func(ctx context.Context) error {
		_, err := backend.JS.Publish(ctx, subjects.OfRequest(r), payload,
			jetstream.WithExpectStream(subjects.StreamRequests), jetstream.WithExpectLastSequencePerSubject(0))
		if natskv.WrongSequence(err) {
			return nil // it was published before
		}
		return err
	})
}
