package natskv

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// failoverInterval is the time between two checks, and the time limit of each.
	failoverInterval = 2 * time.Second
	// failoverChecks is the number of failed checks after which another server is tried.
	failoverChecks = 3
)

// againTime is the time for which an idempotent operation of an external server is tried again:
// after the loss of a server, a cluster elects leaders within about ten seconds.
const againTime = 20 * time.Second

// reconnectTime is the same after the loss of the connection: another server of a cluster takes
// it within a second.
const reconnectTime = 3 * time.Second

// Again does an idempotent operation, and tries again for a time: no answer ends, and no
// decision is refused, because a cluster elects a leader or the embedded server restarts.
func (b *Backend) Again(ctx context.Context, do func() error) error {
	for start := time.Now(); ; {
		err := do()
		if !errors.Is(err, approvals.ErrStoreUnavailable) || !temporary(err) || b.expired(start) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(failoverInterval / 4):
		}
	}
}

// expired reports whether an operation that began at a time is tried no more. The embedded
// server fails for a reason that does not pass by itself, unless it restarts.
func (b *Backend) expired(start time.Time) bool {
	if b.Connected() {
		return b.Disk != nil || time.Since(start) > againTime
	}
	return withoutConnection(start, b.state.lostAt()) > reconnectTime || time.Since(start) > againTime
}

// withoutConnection returns for how long an operation that began at a time has had no connection.
// The time of the loss is zero if the connection has just been lost: its callback comes later.
func withoutConnection(start, lost time.Time) time.Duration {
	switch {
	case lost.IsZero():
		return 0
	case lost.After(start):
		return time.Since(lost)
	}
	return time.Since(start)
}

// FailOver connects to another server of a cluster while JetStream does not answer, until
// the context ends. A server that the others do not reach keeps its clients, and every
// operation of theirs fails.
func (b *Backend) FailOver(ctx context.Context, stream jetstream.Stream) {
	ticker := time.NewTicker(failoverInterval)
	defer ticker.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !b.Connected() {
			failed = 0
			continue
		}
		check, cancel := context.WithTimeout(ctx, failoverInterval)
		_, err := stream.Info(check)
		cancel()
		if failed++; err == nil || ctx.Err() != nil {
			failed = 0
		}
		if failed < failoverChecks {
			continue
		}
		failed = 0
		b.leaveServer(err)
	}
}

// leaveServer connects to another server of a cluster, unless it has just done so.
func (b *Backend) leaveServer(reason error) {
	b.leaving.Lock()
	defer b.leaving.Unlock()
	if len(b.Conn.Servers()) < 2 || time.Since(b.left) < failoverChecks*failoverInterval {
		return
	}
	b.left = time.Now()
	b.Log.Warn("JetStream does not answer; trying another server", "server", b.Conn.ConnectedUrlRedacted(), "error", reason)
	if err := b.Conn.ForceReconnect(); err != nil {
		b.Log.Debug("leave a server of NATS", "error", err)
	}
}
