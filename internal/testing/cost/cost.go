// Package cost measures work in tests of how its cost grows with its size.
package cost

import (
	"runtime"
	"testing"
	"time"
)

// Allocated returns how many bytes work allocates. Tests that run at the same time count too.
func Allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// InUse returns the bytes of the heap that are in use after a garbage collection.
func InUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Linear fails if work of four times the size allocates more than eight times as many bytes: it would be sixteen times
// as many if they grew with the square of the size. Prepare returns the work of a size.
func Linear(t testing.TB, n int, prepare func(n int) func()) {
	t.Helper()
	one, four := Allocated(prepare(n)), Allocated(prepare(4*n))
	if four > 8*one {
		t.Errorf("of %d it costs %d bytes, of %d it costs %d", n, one, 4*n, four)
	}
}

// Ratio returns how many times longer large takes than small. It takes the shortest of several
// times of each, in turns, so that a busy machine changes little.
func Ratio(small, large func()) float64 {
	const rounds = 5
	var least [2]time.Duration
	for round := range rounds {
		for i, work := range []func(){small, large} {
			began := time.Now()
			work()
			if took := time.Since(began); round == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return float64(least[1]) / float64(max(least[0], 1))
}
