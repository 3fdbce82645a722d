package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
)

const (
	// mostReplayed is how many missed events a client gets when it comes back; one
	// that has missed more gets only the requests that wait.
	mostReplayed = 10_000
	// lookBack is how many events before the latest are looked at for requests that
	// the list, which is searched in memory, did not have yet.
	lookBack = 500
)

type feed struct {
	head  uint64          // the latest event when it began
	since uint64          // the latest event that the client knows of, at most head
	sent  map[string]bool // the requests sent for what was recorded up to head
}

// write sends the client the requests that wait, then every change, and the answers to
// its own messages.
func (s *socket) write(ctx context.Context, last *uint64) error {
	f, err := s.sendPending(ctx, last)
	if err != nil {
		return s.fail(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	events := s.live.subscribe(ctx, f.from())
	defer func() {
		cancel()
		for range events { // until the subscription has ended
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case reply := <-s.replies:
			err = s.send(ctx, reply)
		case item, open := <-events:
			switch {
			case !open:
				return ctx.Err()
			case item.err != nil:
				return s.fail(ctx, item.err)
			}
			err = s.forward(ctx, f, item.event)
		}
		if err != nil {
			return s.fail(ctx, err)
		}
	}
}

func (f *feed) from() uint64 { return min(f.since, f.head-min(f.head, lookBack)) + 1 }

func (s *socket) sendPending(ctx context.Context, last *uint64) (*feed, error) {
	head, err := s.live.gate.LastSeq(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	f := &feed{head: head, since: head, sent: map[string]bool{}}
	ready := live.Ready{Pending: []string{}}
	if last != nil && *last <= head && head-*last <= mostReplayed {
		f.since, ready.Resumed = *last, true
	}
	filter := approvals.Filter{Status: approvals.StatusPending, Limit: maxPage}
	for {
		page, err := s.live.requests.gate.Requests(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list requests: %w", err)
		}
		for i := range page.Items {
			f.sent[page.Items[i].ID] = true
			ready.Pending = append(ready.Pending, page.Items[i].ID)
			if err := sendMessage(ctx, s, live.Message[live.RequestData]{Type: live.TypeRequest, Data: live.NewRequestData(page.Items[i])}); err != nil {
				return nil, err
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	return f, sendMessage(ctx, s, live.Message[live.Ready]{Type: live.TypeReady, EventID: strconv.FormatUint(f.since, 10), Data: ready})
}

func (s *socket) forward(ctx context.Context, f *feed, event approvals.Event) error {
	if !movesRequest(event.Type) {
		return nil
	}
	begins, past := event.Type == approvals.EventApprovalRequired, event.Seq <= f.head
	if f.sent[event.RequestID] && (begins || past) {
		return nil
	}
	request, err := s.live.requests.gate.Request(ctx, event.RequestID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // its retention is over
		return nil
	case err != nil:
		return fmt.Errorf("read request %s: %w", event.RequestID, err)
	}
	message := live.Message[live.RequestData]{Type: live.TypeUpdate, Data: live.NewRequestData(request)}
	if request.Status.Final() {
		if begins || event.Seq <= f.since { // how it ended comes next, or is known
			return nil
		}
	} else if begins || past {
		message.Type = live.TypeRequest
	}
	if past {
		f.sent[event.RequestID] = true
	}
	if event.Seq > f.since {
		message.EventID = strconv.FormatUint(event.Seq, 10)
	}
	return sendMessage(ctx, s, message)
}

// fail sends the client the error, unless the client has gone.
func (s *socket) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	s.live.log.Error("a WebSocket failed", "error", err)
	_ = sendMessage(ctx, s, problemMessage("", problemOf(http.MethodGet, err))) // it ends either way
	return errFailed
}

func sendMessage[T any](ctx context.Context, s *socket, message live.Message[T]) error {
	text, err := encode(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return s.send(ctx, text)
}
