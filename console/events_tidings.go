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

// mostTold bounds the requests that a stream remembers to have told of. Events about one
// request are close together, so that what is forgotten is seldom read again.
const mostTold = 10_000

// tidings are what a stream tells of events.
type tidings struct {
	gate     Gate
	requests bool            // wanted beside the events
	head     uint64          // the latest event when the stream began, 0 once that is past
	told     map[string]bool // the requests told of since then, by events up to head
}

// of is an event and, where that is wanted, the request that it is about: written
// together, so that a reader is woken once. What a request became is recorded before its
// event is, so that one which is read now is behind no event up to head.
func (t *tidings) of(ctx context.Context, item feedItem) ([]byte, error) {
	if item.err != nil {
		return nil, item.err
	}
	event := item.event
	text, err := appendEvent([]byte("id: "+strconv.FormatUint(event.Seq, 10)+"\n"), string(event.Type), event)
	if err != nil || !t.requests || !movesRequest(event.Type) || !t.isNews(event) {
		return text, err
	}
	request, err := t.gate.Request(ctx, event.RequestID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // kept for as long as it was to be
		return text, nil
	case err != nil:
		return nil, fmt.Errorf("read request %s: %w", event.RequestID, err)
	}
	return appendEvent(text, eventRequest, request)
}

// isNews reports whether the request that an event is about may stand otherwise than it
// was told to.
func (t *tidings) isNews(event approvals.Event) bool {
	if event.Seq > t.head {
		t.head, t.told = 0, nil
		return true
	}
	if t.told[event.RequestID] {
		return false
	}
	if len(t.told) >= mostTold {
		clear(t.told)
	}
	t.told[event.RequestID] = true
	return true
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
