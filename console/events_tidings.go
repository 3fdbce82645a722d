package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
)

// eventRequest names the event that is a request as it stands.
const eventRequest = "request"

// mostEnded bounds the requests of which a stream remembers that it told their end. Events
// about one request are close together, so that what is forgotten is seldom read again.
const mostEnded = 10_000

// tidings are what a stream tells of events.
type tidings struct {
	gate     Gate
	requests bool            // wanted beside the events
	ended    map[string]bool // the requests that have been told as they ended
}

// of is an event and, where that is wanted, the request that it is about: written
// together, so that a reader is woken once. A large request is abridged. One that has ended stays as it is, so that
// who resumes gets each of those once, however many events there are about it.
func (t *tidings) of(ctx context.Context, item feedItem) ([]byte, error) {
	if item.err != nil {
		return nil, item.err
	}
	event := item.event
	text, err := appendEvent([]byte("id: "+strconv.FormatUint(event.Seq, 10)+"\n"), string(event.Type), event)
	if err != nil || !t.requests || !movesRequest(event.Type) || t.ended[event.RequestID] {
		return text, err
	}
	request, err := t.gate.Request(ctx, event.RequestID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // kept for as long as it was to be
		return text, nil
	case err != nil:
		return nil, fmt.Errorf("read request %s: %w", event.RequestID, err)
	}
	if request.Status.Final() {
		t.end(event.RequestID)
	}
	return appendEvent(text, eventRequest, request.Abridged())
}

func (t *tidings) end(id string) {
	if len(t.ended) >= mostEnded {
		clear(t.ended)
	}
	t.ended[id] = true
}

// movesRequest reports whether an event says that a request began, ended, or
// stands otherwise than before.
func movesRequest(t approvals.EventType) bool {
	switch t {
	case approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventApprovalEscalated,
		approvals.EventApprovalExpired, approvals.EventApprovalCancelled:
		return true
	}
	return false
}
