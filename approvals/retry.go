package approvals

import (
	"context"
	"time"
)

// WriteTimeout bounds a write that must be finished although its caller is gone: the
// event of a decision that is already durable, a cancellation.
const WriteTimeout = 10 * time.Second

// Pause waits a little before a lost race is run again: a replicated store may
// answer a read with what stood before the winner's write.
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
