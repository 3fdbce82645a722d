package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
)

const eventRequest = "request"

const mostEnded = 10_000

// eventFilter decides what a stream sends for an event.
type eventFilter struct {
	gate     scopedGate
	requests bool            // requests are wanted beside the events
	ended    map[string]bool // the requests that were sent after their end
}

// encode returns an event and, if that is wanted, the request that it is about: in
// one text, so that a reader is woken once. A large request is abridged. Of one that has
// ended only its outcome and the result change, so that a client that resumes gets it a few times,
// however many events there are about it.
func (f *eventFilter) encode(ctx context.Context, item feedItem) ([]byte, error) {
	if item.err != nil {
		return nil, item.err
	}
	event := item.event
	text, err := appendEvent([]byte("id: "+strconv.FormatUint(event.Seq, 10)+"\n"), string(event.Type), event)
	if err != nil || !f.requests || !movesRequest(event.Type) || (f.ended[event.RequestID] && event.Type != approvals.EventCallResult && event.Type != approvals.EventCallNotReleased) {
		return text, err
	}
	request, err := f.gate.Request(ctx, event.RequestID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // its retention is over
		return text, nil
	case err != nil:
		return nil, fmt.Errorf("read request %s: %w", event.RequestID, err)
	}
	if request.Status.Final() {
		f.end(event.RequestID)
	}
	return appendEvent(text, eventRequest, request.Abridged())
}

func (f *eventFilter) end(id string) {
	if len(f.ended) >= mostEnded {
		clear(f.ended)
	}
	f.ended[id] = true
}

func movesRequest(t approvals.EventType) bool {
	switch t {
	case approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventApprovalEscalated,
		approvals.EventApprovalExpired, approvals.EventApprovalCancelled, approvals.EventCallResult, approvals.EventCallNotReleased,
		approvals.EventTurnDetached, approvals.EventTurnReattached, approvals.EventTurnParked, approvals.EventTurnReady:
		return true
	}
	return false
}
