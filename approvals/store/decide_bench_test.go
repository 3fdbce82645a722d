package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
)

// The time from the call of Decide to the hold's Done with a number of pending holds, and
// the memory of one hold.
func BenchmarkDecideToWake(b *testing.B) {
	for _, held := range []int{1, 2000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			g := approvalstest.RunGate(b, gate.Options{Store: open(b, store.Options{Dir: b.TempDir()}).ForGate()})
			before := heap()
			waiting := make([]*gate.Hold, held)
			var all sync.WaitGroup
			for i := range waiting {
				all.Go(func() { waiting[i] = approvalstest.Open(b, g, approvalstest.Request("x")) })
			}
			all.Wait()
			perHold := float64(heap()-before) / float64(held)
			var took []time.Duration
			for b.Loop() {
				h := approvalstest.Open(b, g, approvalstest.Request("x"))
				start := time.Now()
				if _, err := g.Decide(b.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
					b.Fatal(err)
				}
				<-h.Done()
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(perHold, "B/hold")
			runtime.KeepAlive(waiting)
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
