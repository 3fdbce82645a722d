package natskv_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// The error of an operation without a connection names the connection, not a buffer of the client.
func TestFailWithoutAConnection(t *testing.T) {
	t.Parallel()
	b := natskv.NewBackend(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	err := b.Fail(natskv.OpProbe, "write a probe", fmt.Errorf("put: %w", natsgo.ErrReconnectBufExceeded))
	if want := "write a probe: the store is not available: there is no connection to NATS"; err.Error() != want || !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("%q, want %q", err, want)
	}
}
