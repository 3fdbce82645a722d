package natskv

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// An iterator that has a message only when it is called again is called again.
func TestNext_IsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, calls := jetstream.Msg(message{}), 0
		got, err := next(t.Context(), func(ctx context.Context) (jetstream.Msg, error) {
			if calls++; calls <= len(nextAgain) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return want, nil
		})
		if got != want || err != nil || calls != len(nextAgain)+1 {
			t.Errorf("got %v, %v after %d calls", got, err, calls)
		}
	})
}

// A wait ends with its context, and with any other error of the iterator.
func TestNext_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context) (jetstream.Msg, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		for _, after := range []time.Duration{time.Millisecond, 500 * time.Millisecond, time.Hour} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
			if _, err := next(ctx, waits); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled after %s: %v", after, err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), after)
			began := time.Now()
			if _, err := next(ctx, waits); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != after {
				t.Errorf("a limit of %s: %v after %s", after, err, time.Since(began))
			}
			cancel()
		}
		calls := 0
		_, err := next(t.Context(), func(context.Context) (jetstream.Msg, error) { calls++; return nil, jetstream.ErrNoHeartbeat })
		if !errors.Is(err, jetstream.ErrNoHeartbeat) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

// message is some message.
type message struct{ jetstream.Msg }
