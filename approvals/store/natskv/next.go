package natskv

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// nextAgain are the times after which [Next] calls an iterator again.
var nextAgain = [...]time.Duration{50 * time.Millisecond, time.Second}

// Next returns the next message of an iterator, or the error of the context when that ends.
//
// An iterator of nats.go v1.55 sends no pull request while it is still sending the last one, and looks
// only when it is called. If all requested messages arrive and are read meanwhile, as on a busy machine,
// it waits for messages that nothing has requested, until it misses two heartbeats.
func Next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	return next(ctx, func(ctx context.Context) (jetstream.Msg, error) { return messages.Next(jetstream.NextContext(ctx)) })
}

func next(ctx context.Context, read func(context.Context) (jetstream.Msg, error)) (jetstream.Msg, error) {
	for _, after := range nextAgain {
		try, cancel := context.WithTimeout(ctx, after)
		msg, err := read(try)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return msg, err
		}
	}
	return read(ctx)
}
