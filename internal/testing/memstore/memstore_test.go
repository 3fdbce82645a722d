package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/internal/testing/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryIsAStore(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{MaxStored: storetest.MaxStored})
	storetest.Run(t, storetest.Options{MaxRecord: 8 << 20, Shared: true, Marks: true, Open: func(testing.TB) *storetest.Store {
		s := s.Reopen()
		return &storetest.Store{
			Gate: s.ForGate(), Grants: s.ForGrants(), Log: s.Events, Held: s.ForHeldTurns(), Leases: s.Leases, Turns: s.Turns, Deliveries: s.Deliveries,
			Push: s.Push, Passkeys: s.Passkeys, Secrets: s.Secrets, Counts: s.Limits, Close: s.Close,
		}
	}})
}
