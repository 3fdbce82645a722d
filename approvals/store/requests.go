package store

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// denseRevisions is the number of revisions of the bucket for each open request up to which a start reads all records
// from the first open one on instead of each open one by its key: it needs most of them, and that takes half the time for each.
const denseRevisions = 4

// Requests are the records of requests, and the index for lists.
type Requests struct {
	records   Records[approvals.Request]
	index     *requestindex.Index
	searching chan struct{} // one for each search in progress
	listing   chan struct{} // one for each list in progress, searches included
}

func newRequests(b natskv.Bucket, index *requestindex.Index) *Requests {
	return &Requests{
		records:   Records[approvals.Request]{bucket: b, kind: "request", unknown: approvals.ErrUnknownRequest, id: func(r *approvals.Request) string { return r.ID }},
		index:     index,
		searching: make(chan struct{}, maxSearches), listing: make(chan struct{}, maxLists),
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

// MissingRequests returns those of the ids that have no record. It looks for the others among the names of the records, if
// they are near to each other.
func (s *Requests) MissingRequests(ctx context.Context, ids []string) (missing []string, err error) {
	unseen, first, last := map[string]bool{}, uint64(math.MaxUint64), s.index.Covered()
	for _, id := range ids {
		unseen[id] = true
		if revision := s.index.Revision(id); revision > 0 {
			first = min(first, revision)
		}
	}
	if after := first - 1; after < last && last-after <= denseRevisions*uint64(len(ids)) {
		s.nameRecords(ctx, after, func(id string) { delete(unseen, id) })
	}
	for _, id := range ids {
		if !unseen[id] {
			continue
		}
		if _, err := s.GetRequest(ctx, id); errors.Is(err, approvals.ErrUnknownRequest) {
			missing = append(missing, id)
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// nameRecords calls named with the ids of the records after a revision, until it has them all or the store does not answer
// in time.
func (s *Requests) nameRecords(ctx context.Context, after uint64, named func(id string)) {
	ctx, done := natskv.Bounded(ctx)
	defer done()
	_ = s.records.bucket.Watch(ctx, natskv.Watched{Keys: true, After: after, Current: natskv.Loaded(done), Entry: func(e *natskv.Entry) { // it ends with the context, without an error
		if id, err := subjects.ParseToken(e.Key()); err == nil && e.Operation() == jetstream.KeyValuePut {
			named(id)
		}
	}})
}

// WatchRequests calls changed with every request that is not closed, and then with every change of
// any request. It reads revisions that the index does not cover from the bucket.
func (s *Requests) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	covered := s.index.Covered()
	ids, first, err := s.index.OpenRequests()
	if err != nil {
		return err
	}
	after, unread := min(covered, first-1), map[string]bool{}
	if covered-after > denseRevisions*uint64(len(ids)) {
		after = covered
		s.loadOpen(ctx, ids, covered, changed)
	} else {
		for _, id := range ids {
			unread[id] = true
		}
	}
	complete := true // else the next start reads again what a version that can read it must not miss
	entry := func(r record[approvals.Request], err error) {
		if delete(unread, r.value.ID); err != nil {
			clear(unread) // it may be one of them
		}
		if err == nil && s.index.Put(&r.value, r.revision, r.at) && (r.revision > covered || s.index.IsOpen(r.value.ID)) {
			changed(approvals.Stored{Request: r.value, Revision: r.revision, At: r.at})
		}
		if complete = complete && (err == nil || r.revision <= covered); complete {
			s.index.Cover(r.revision)
		}
	}
	current := natskv.Loaded(func() {
		for id := range unread { // the bucket has deleted it
			s.index.Remove(id)
		}
		loaded()
	})
	return s.records.watchAll(ctx, entry, s.index.Remove, natskv.Watched{After: after, Current: current})
}

// CloseRequest marks a request as closed, if it is still at a revision.
func (s *Requests) CloseRequest(id string, revision uint64) { s.index.CloseRequest(id, revision) }

// loadOpen reads requests by their ids, and calls changed with those whose last revision is at most
// upTo, in order. It tries again until it can read them or the context ends.
func (s *Requests) loadOpen(ctx context.Context, ids []string, upTo uint64, changed func(approvals.Stored)) {
	for part := range slices.Chunk(ids, loadBatch) {
		read := make([]*approvals.Stored, len(part))
		group := errgroup.Group{}
		group.SetLimit(listReads)
		for i, id := range part {
			group.Go(func() (err error) { read[i], err = s.load(ctx, id); return err })
		}
		if err := group.Wait(); err != nil {
			return // the context has ended
		}
		for _, stored := range read {
			if stored != nil && stored.Revision <= upTo {
				changed(*stored)
			}
		}
	}
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
