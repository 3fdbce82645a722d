package proxy

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"
)

const (
	burstHolds   = 64               // holds whose beginning leaves enough garbage to be collected
	reclaimAfter = time.Second      // without another hold: the burst is over
	reclaimAgain = 15 * time.Second // later, when the store has also released its memory
)

// freeMemory collects garbage and returns free memory to the system. Pools keep what they
// have for one collection.
func freeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

const (
	// manyBytes is how much live memory counts as much. Up to it Go may keep as much garbage,
	// which costs the least time; beyond it less, so that very many holds fit.
	manyBytes     = 128 << 20
	normalGarbage = 100      // percent of live memory
	someGarbage   = 30       // of much live memory, when the store has released its own
	littleGarbage = 10       // of much live memory, before
	otherBytes    = 32 << 20 // what Go needs beside the heap and stacks
)

// burst is how far a burst of holds is.
type burst int

const (
	burstBegins burst = iota // holds begin
	burstHeld                // they wait, and the store has memory of their beginning
	burstOver                // it has released that too
)

// limitGarbage sets how much garbage Go may keep. While holds begin, it also limits the free
// memory that Go keeps from the system. It leaves GOGC and GOMEMLIMIT of the environment as
// they are.
func limitGarbage(b burst) {
	used := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	runtimemetrics.Read(used)
	live, stacks := used[0].Value.Uint64(), used[1].Value.Uint64()
	many := live > manyBytes
	percent, limit := normalGarbage, int64(math.MaxInt64)
	switch {
	case many && b == burstBegins:
		percent, limit = littleGarbage, int64(live+stacks)*(100+littleGarbage)/100+otherBytes
	case many && b == burstHeld:
		percent = littleGarbage
	case many:
		percent = someGarbage
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// memoryReclaimer frees memory when a burst of holds is over. Go collects garbage after
// allocations, and there are none while all turns wait for people. The garbage of
// recording the holds would stay in use; it is larger than the holds. For some hundred
// holds it takes milliseconds.
type memoryReclaimer struct {
	free func()

	mu    sync.Mutex
	timer *time.Timer // nil while nothing is to be freed
	began int         // holds since the last check
	holds int         // since memory was freed
	again bool        // memory has to be freed again
	ended bool
}

// holdBegan counts a hold.
func (r *memoryReclaimer) holdBegan() { r.add(1) }

// started is for the start of the program, which leaves as much garbage as a burst.
func (r *memoryReclaimer) started() { r.add(burstHolds) }

// add counts holds.
func (r *memoryReclaimer) add(holds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began += holds; r.timer == nil && !r.ended {
		r.timer = time.AfterFunc(reclaimAfter, r.check)
	}
}

// check frees memory if there was a burst and it is over.
func (r *memoryReclaimer) check() {
	b, free := r.next()
	limitGarbage(b)
	if free {
		r.free()
	}
}

// next returns how far the burst is, and whether memory has to be freed.
func (r *memoryReclaimer) next() (b burst, free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return burstOver, false
	}
	quiet := r.began == 0
	r.holds, r.began = r.holds+r.began, 0
	switch {
	case !quiet:
		r.timer.Reset(reclaimAfter)
		return burstBegins, false
	case r.holds >= burstHolds:
		r.holds, r.again = 0, true
		r.timer.Reset(reclaimAgain)
		return burstHeld, true
	}
	r.timer = nil
	free, r.again = r.again, false
	return burstOver, free
}

// end ends freeing.
func (r *memoryReclaimer) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
