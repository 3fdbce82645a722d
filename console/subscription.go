package console

import (
	"context"
	"errors"
	"sync"

	"github.com/heldcall/heldcall/approvals"
)

type feedItem struct {
	event approvals.Event
	err   error
}

// replay waits until a stream may read the events that it has missed: only
// mostReplays streams do so at the same time, so that they do not slow down the log
// for all others. The caller calls caughtUp with the number of each event that it
// reads, and with 0 at its end.
func (h *liveHandlers) replay(ctx context.Context, from uint64) (caughtUp func(seq uint64), err error) {
	if from == 0 {
		return func(uint64) {}, nil
	}
	head, err := h.gate.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	if from > head {
		return func(uint64) {}, nil
	}
	select {
	case h.replays <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave := sync.OnceFunc(func() { <-h.replays })
	return func(seq uint64) {
		if seq == 0 || seq >= head {
			leave()
		}
	}, nil
}

// subscribe passes on events until the context ends or the subscription fails;
// then it closes the channel.
func (h *liveHandlers) subscribe(ctx context.Context, from uint64) <-chan feedItem {
	feed := make(chan feedItem)
	go func() {
		defer close(feed)
		caughtUp, err := h.replay(ctx, from)
		if err != nil {
			select {
			case feed <- feedItem{err: err}:
			case <-ctx.Done():
			}
			return
		}
		defer caughtUp(0)
		for event, err := range h.gate.Subscribe(ctx, from) {
			caughtUp(event.Seq)
			if errors.Is(err, errUnseen) {
				continue
			}
			select {
			case feed <- feedItem{event, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return feed
}
