package notify

import (
	"context"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

type channel struct {
	setup   Setup
	log     *slog.Logger
	metrics channelMetrics
	faults  *faults
}

// cardKey returns the key of the card that a request belongs to: the calls that a model
// made together were asked about at the same time, which is the first part of their
// ids. A machine gets a card a request.
func (c *channel) cardKey(requestID, turnID string) string {
	if c.setup.EachEvent || turnID == "" || len(requestID) != ulid.EncodedSize {
		return requestID
	}
	return requestID[:10] + "-" + turnID
}

func (c *channel) idle() bool {
	chooser, chooses := c.setup.Channel.(Chooser)
	return chooses && !chooser.Anybody()
}

// trim removes the parts of an event that the channel does not get: a card shows its
// requests, which are read when it is delivered, and only machines get whole events.
func (c *channel) trim(e approvals.Event) approvals.Event {
	if c.setup.EachEvent {
		return e
	}
	e.Before, e.After, e.Doubts, e.Grant = nil, nil, nil, nil
	return e
}

// repeat runs do again, after a pause, until the context ends.
func (c *channel) repeat(ctx context.Context, failed string, do func(context.Context) error) {
	for attempts := 1; ; attempts++ {
		began := time.Now()
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxPause {
			attempts = 1
		}
		c.log.Warn(failed+"; trying again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause(attempts)):
		}
	}
}
