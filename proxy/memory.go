package proxy

import (
	"cmp"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"github.com/heldcall/heldcall/internal/memory"
)

const (
	burstHolds   = 64               // holds whose beginning leaves enough garbage to be collected
	burstStreams = 64               // open streams whose beginning does
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
	// manyBytes is how much live memory of holds counts as much. Up to it Go may keep as much garbage as
	// live memory, and leastGarbage at least, which costs the least time; beyond it less, so that very many
	// holds fit.
	manyBytes     = 128 << 20
	heldBytes     = 64 << 10 // of a hold, at most; live beside the holds is the history in the store
	normalGarbage = 100      // percent of live memory
	leastGarbage  = 32 << 20 // bytes: beside less live memory Go collects many times a second
	someGarbage   = 30       // of much live memory of holds, when the store has released its own
	littleGarbage = 10       // of much live memory of holds, before
	otherBytes    = 32 << 20 // what Go needs beside the heap and stacks
)

// burst is how far a burst of holds is.
type burst int

const (
	burstOver   burst = iota // the store has released its memory of the burst, or there was none
	burstBegins              // holds begin
	burstHeld                // they wait, and the store has memory of their beginning
)

// limitGarbage sets how much garbage Go may keep, with a number of connections that may be held, and limits its
// memory to most bytes. While holds begin, it also limits the free memory that Go keeps from the system. It leaves
// GOGC and GOMEMLIMIT of the environment as they are.
func limitGarbage(b burst, conns int, most int64) {
	used := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	runtimemetrics.Read(used)
	percent, limit := garbageLimits(b, conns, used[0].Value.Uint64(), used[1].Value.Uint64())
	memory.LimitGo(min(limit, cmp.Or(most, math.MaxInt64)))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// garbageLimits returns the percentage of live memory that Go may keep as garbage, and the limit of its
// memory in bytes, with a live heap and stacks.
func garbageLimits(b burst, conns int, live, stacks uint64) (percent int, limit int64) {
	least := leastGarbage * 100 / max(live, leastGarbage/10) // percent; before the first collection nothing counts as live
	percent, limit = max(normalGarbage, int(least)), math.MaxInt64
	if held := min(live, uint64(conns)*heldBytes); held > manyBytes {
		of := uint64(littleGarbage)
		if b == burstOver {
			of = someGarbage
		}
		percent = int((held*of + (live-held)*normalGarbage) / live)
		if b == burstBegins {
			limit = int64(live+stacks)*int64(100+percent)/100 + otherBytes
		}
	}
	return percent, limit
}

// afterCollections calls f after each garbage collection until it returns false.
func afterCollections(f func() bool) {
	runtime.AddCleanup(new([64]byte), func(struct{}) { // which is garbage at once
		if f() {
			afterCollections(f)
		}
	}, struct{}{})
}

// memoryReclaimer frees memory when a burst of holds is over, or when many streams have begun and
// stay open. Go collects garbage after allocations, and there are none while all turns wait, for people or
// for a model. The garbage of recording the holds would stay in use, which is larger than the holds, and so would
// the stacks with which streams began. For some hundred of them it takes milliseconds.
type memoryReclaimer struct {
	free  func()
	conns func() int // of agents
	limit int64      // of Go's memory, 0 for none

	mu    sync.Mutex
	timer *time.Timer // nil while nothing is to be freed
	burst burst       // of holds
	held  time.Time   // when memory was freed after it
	began began       // since the last check
	holds int         // since memory was freed
	fresh int         // streams that began since then
	open  int         // streams
	ended bool
}

// began is how many holds and streams began.
type began struct{ holds, streams int }

// holdBegan counts a hold.
func (r *memoryReclaimer) holdBegan() { r.add(began{holds: 1}) }

// started is for the start of the program, which leaves as much garbage as a burst.
func (r *memoryReclaimer) started() {
	r.add(began{holds: burstHolds})
	afterCollections(r.collected)
}

// collected sets how much garbage Go may keep beside the memory that a collection has found live. It
// returns false after the end.
func (r *memoryReclaimer) collected() bool {
	r.mu.Lock()
	b, ended := r.burst, r.ended
	r.mu.Unlock()
	if !ended {
		limitGarbage(b, r.conns(), r.limit)
	}
	return !ended
}

// streamBegan and streamEnded count an open stream.
func (r *memoryReclaimer) streamBegan() { r.add(began{streams: 1}) }

func (r *memoryReclaimer) streamEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}

// add counts what begins.
func (r *memoryReclaimer) add(b began) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began.holds += b.holds
	r.began.streams += b.streams
	if r.open += b.streams; r.timer == nil && !r.ended {
		r.timer = time.AfterFunc(reclaimAfter, r.check)
	}
}

// check frees memory if there was a burst and it is over.
func (r *memoryReclaimer) check() {
	b, free := r.next()
	limitGarbage(b, r.conns(), r.limit)
	if free {
		r.free()
	}
}

// next returns how far the burst of holds is, and whether memory has to be freed.
func (r *memoryReclaimer) next() (b burst, free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return burstOver, false
	}
	last, done := r.began, false
	r.began = began{}
	r.holds, r.fresh = r.holds+last.holds, r.fresh+last.streams
	switch {
	case last.holds > 0:
		r.burst = burstBegins
	case r.holds >= burstHolds:
		r.burst, r.held, free = burstHeld, time.Now(), true
	case r.burst == burstHeld && time.Since(r.held) >= reclaimAgain:
		r.burst, free = burstOver, true
	case last.streams > 0: // the next check looks at them
	default:
		free = min(r.fresh, r.open) >= burstStreams
		if done = r.burst != burstHeld; done {
			r.burst = burstOver
		}
	}
	if free {
		r.holds, r.fresh = 0, 0
	}
	if done {
		r.timer = nil
	} else {
		r.timer.Reset(reclaimAfter)
	}
	return r.burst, free
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
