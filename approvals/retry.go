package approvals

import (
	"context"
	"time"
)

// WriteTimeout is the time limit of a write that must be done even if its caller has
// gone: the event of a durable decision, a cancellation.
const WriteTimeout = 10 * time.Second

// RetryDelay is the delay of work that is done again after an error of the store.
const RetryDelay = time.Second

// CrashWindow is the time before the newest record in which a crash may have left out the events
// of final records.
const CrashWindow = 10 * time.Minute

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
