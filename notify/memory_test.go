package notify_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/cost"
	"github.com/heldcall/heldcall/notify"
)

// flood is a store that hands over many events with long arguments, of requests that
// wait.
type flood struct {
	events, size int
	over         chan struct{} // closed when all are handed over
}

func (f *flood) Follow(ctx context.Context, _ string, _ []approvals.EventType, following func(), take func(approvals.Event, notify.Message)) error {
	following()
	for i := range f.events {
		take(approvals.Event{
			ID: fmt.Sprint(i), Type: approvals.EventApprovalRequired, RequestID: fmt.Sprint(i),
			Before: bytes.Repeat([]byte("1"), f.size), After: bytes.Repeat([]byte("2"), f.size),
		}, unanswered{})
	}
	close(f.over)
	<-ctx.Done()
	return nil
}

func (f *flood) State(context.Context, string, string) ([]byte, uint64, error) { return nil, 0, nil }

func (f *flood) PutState(context.Context, string, string, []byte, uint64) (uint64, error) {
	return 1, nil
}

func (f *flood) Request(_ context.Context, id string) (approvals.Request, error) {
	return approvals.Request{ID: id, Status: approvals.StatusPending, ExpiresAt: time.Now().Add(time.Hour)}, nil
}

func (f *flood) Requests(context.Context, approvals.Filter) (approvals.Page, error) {
	return approvals.Page{}, nil
}

type unanswered struct{}

func (unanswered) Done()    {}
func (unanswered) Working() {}
func (unanswered) Return()  {}

// The queue of a channel that is down does not keep arguments.
func TestQueuedEventsAreSmall(t *testing.T) {
	const events, size = 200, 128 << 10
	f := &flood{events: events, size: size, over: make(chan struct{})}
	down := &board{gate: make(chan struct{})}
	d, err := notify.New(notify.Options{Store: f, Requests: f, Channels: []notify.Setup{{Name: "down", Channel: down}}})
	if err != nil {
		t.Fatal(err)
	}
	before := cost.InUse()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	<-f.over
	if grown := cost.InUse() - before; grown > events*size/2 {
		t.Errorf("%d events of %d bytes hold %d bytes", events, 2*size, grown)
	}
	close(down.gate)
	cancel()
	<-ran
}
