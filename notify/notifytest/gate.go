package notifytest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
)

// OpenGate runs a gate on a real embedded NATS that listens nowhere; the gate gets
// that store. closed ends both and reports what went wrong; only its first call counts.
func OpenGate(t testing.TB, o store.Options, g gate.Options) (opened *store.Store, asking *gate.Gate, closed func()) {
	t.Helper()
	o.Listen = "-"
	opened, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	g.Store = opened.ForGate()
	asking = gate.New(g)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- asking.Run(ctx) }()
	<-asking.Ready()
	return opened, asking, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ran, opened.Close()); err != nil {
			t.Error(err)
		}
	})
}
