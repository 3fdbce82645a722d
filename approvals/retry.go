package approvals

import (
	"context"
	"time"
)

// WriteTimeout is the time limit of a write that must be done even if its caller has
// gone: the event of a durable decision, a cancellation.
const WriteTimeout = 10 * time.Second

// Pause waits before a compare-and-set is tried again: a replicated store may still return
// the value from before the other write.
func Pause(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(time.Duration(attempt)*2*time.Millisecond, 50*time.Millisecond)):
		return nil
	}
}
