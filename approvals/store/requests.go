package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// decisionRoom is what a decision adds to a request at least, in bytes. Edited arguments
// may double a request, so a new one is at most half of a record.
const decisionRoom = 16 << 10

// Requests are the records of requests, and the index for lists.
type Requests struct {
	records   Records[approvals.Request]
	index     *requestIndex
	searching chan struct{} // one for each search in progress
}

func newRequests(b natskv.Bucket) *Requests {
	return &Requests{
		records:   Records[approvals.Request]{bucket: b, kind: "request", unknown: approvals.ErrUnknownRequest, id: func(r *approvals.Request) string { return r.ID }},
		index:     newRequestIndex(),
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
		s.index.put(r, written, time.Now())
	}
	return written, err
}

// GetRequest reads a request, or fails with [approvals.ErrUnknownRequest].
func (s *Requests) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	stored, err := s.records.get(ctx, id)
	return approvals.Stored{Request: stored.value, Revision: stored.revision, At: stored.at}, err
}

// WatchRequests calls changed with every request and every change of one.
func (s *Requests) WatchRequests(ctx context.Context, changed func(approvals.Stored), loaded func()) error {
	return s.records.watch(ctx, func(r record[approvals.Request]) {
		if s.index.put(r.value, r.revision, r.at) {
			changed(approvals.Stored{Request: r.value, Revision: r.revision, At: r.at})
		}
	}, s.index.remove, natskv.Watched{Current: natskv.Loaded(loaded)})
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
