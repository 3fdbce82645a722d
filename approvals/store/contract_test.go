package store_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/internal/testing/storetest"
)

// contract runs the tests of every store on that of the options.
func contract(t *testing.T, o store.Options) {
	o.Listen, o.MaxStored = "-", storetest.MaxStored
	external, maxRecord := o.URL != "", 8<<20
	if external {
		maxRecord = 1 << 20 // of a NATS server without a configuration
	}
	storetest.Run(t, storetest.Options{MaxRecord: maxRecord, Shared: external, Marks: !external, Open: func(t testing.TB) *storetest.Store {
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var leases heldturns.Leases
		if external {
			leases = s.HeldTurns.Leases
		}
		return &storetest.Store{
			Gate: s.ForGate(), Grants: s.ForGrants(), Log: s.Events, Held: s.ForHeldTurns(), Leases: leases, Turns: s.Turns, Deliveries: s.Deliveries,
			Push: s.Push, Passkeys: s.ForPasskeys(), Secrets: s.Secrets, Counts: s.Limits, Close: s.Close,
		}
	}})
}

func TestContract_Embedded(t *testing.T) {
	t.Parallel()
	contract(t, store.Options{Dir: t.TempDir()})
}

func TestContract_External(t *testing.T) {
	t.Parallel()
	contract(t, store.Options{URL: startExternal(t, 0, t.TempDir()).url, Scratch: t.TempDir()})
}
