package memstore_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
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

// A list of the requests of a run costs the same beside many of other runs: dispatchers list the run
// of each request, and would use up the processor that the rest of a load test needs.
func TestListOfARunDecodesNoOther(t *testing.T) {
	s := memstore.New(memstore.Options{}).ForGate()
	create := func(id, run string) {
		t.Helper()
		if _, err := s.CreateRequest(t.Context(), approvals.Request{ID: id, RunID: run}); err != nil {
			t.Fatal(err)
		}
	}
	allocations := func(run string) float64 {
		return testing.AllocsPerRun(10, func() {
			page, err := s.ListRequests(t.Context(), approvals.Filter{RunID: run})
			if err != nil || len(page.Items) != 1 || page.Items[0].RunID != run {
				t.Errorf("run %q: listed %v, %v", run, page.Items, err)
			}
		})
	}
	const run = `a "run" of <é> & \u2028`
	create("00", run)
	alone := allocations(run)
	for n := range 1000 {
		create(fmt.Sprintf("%04d", n), fmt.Sprint("run", n))
	}
	if among := allocations(run); among > 2*alone {
		t.Errorf("a list of one request allocates %v times, and %v times among requests of other runs", alone, among)
	}
}
