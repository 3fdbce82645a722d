package notifytest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// OpenGate runs a gate on a store, which the gate gets. closed ends both and reports what went wrong;
// only its first call counts.
func OpenGate(t testing.TB, s *memstore.Store, g gate.Options) (asking *gate.Gate, closed func()) {
	t.Helper()
	g.Store = s.ForGate()
	asking = gate.New(g)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- asking.Run(ctx) }()
	<-asking.Ready()
	return asking, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ran, s.Close()); err != nil {
			t.Error(err)
		}
	})
}
