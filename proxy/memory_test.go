package proxy

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func noConns() int { return 0 }

func TestMemoryReclaimer(t *testing.T) {
	for name, c := range map[string]struct {
		holds int
		want  int32
	}{
		"a few holds": {burstHolds - 1, 0},
		"a burst":     {burstHolds, 2},
		"a great one": {50 * burstHolds, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var given atomic.Int32
				r := &memoryReclaimer{free: func() { given.Add(1) }, conns: noConns}
				for range c.holds {
					if r.holdBegan(); given.Load() > 0 {
						t.Fatal("memory is given back while holds begin")
					}
					time.Sleep(reclaimAfter / 100)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if given.Load() != c.want {
					t.Errorf("memory is given back %d times, want %d", given.Load(), c.want)
				}
			})
		})
	}
}

func TestMemoryReclaimer_EachBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		r := &memoryReclaimer{free: func() { given.Add(1) }, conns: noConns}
		for range 3 {
			for range burstHolds {
				r.holdBegan()
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if given.Load() != 6 {
			t.Errorf("memory is given back %d times after three bursts, want 6", given.Load())
		}
	})
}

func TestMemoryReclaimer_AfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		r := &memoryReclaimer{free: func() { given.Add(1) }, conns: noConns}
		r.started()
		defer r.end() // it follows all collections
		time.Sleep(time.Hour)
		synctest.Wait()
		if given.Load() != 2 {
			t.Errorf("memory is given back %d times after the start, want 2", given.Load())
		}
	})
}

// Memory is freed once when many streams have begun and stay open, and not while others begin.
func TestMemoryReclaimer_Streams(t *testing.T) {
	for name, c := range map[string]struct {
		begin, end int
		want       int32
	}{
		"a few":     {burstStreams - 1, 0, 0},
		"many":      {10 * burstStreams, 0, 1},
		"many ends": {burstStreams, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var given atomic.Int32
				r := &memoryReclaimer{free: func() { given.Add(1) }, conns: noConns}
				for range c.begin {
					if r.streamBegan(); given.Load() > 0 {
						t.Fatal("memory is freed while streams begin")
					}
					time.Sleep(reclaimAfter / 100)
				}
				for range c.end {
					r.streamEnded()
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if given.Load() != c.want {
					t.Errorf("memory is freed %d times, want %d", given.Load(), c.want)
				}
			})
		})
	}
}

func TestMemoryReclaimer_EndsWithTheProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &memoryReclaimer{free: func() { t.Error("memory is given back after the end") }, conns: noConns}
		for range burstHolds {
			r.holdBegan()
		}
		r.end()
		r.holdBegan()
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

func TestGarbageLimits(t *testing.T) {
	const live, stacks = 2 * manyBytes, 8 << 20
	const all = live / heldBytes // connections that may have all of it
	for _, tt := range []struct {
		b       burst
		conns   int
		live    uint64
		percent int
		limit   int64
	}{
		{burstBegins, all, live, littleGarbage, (live+stacks)*(100+littleGarbage)/100 + otherBytes},
		{burstHeld, all, live, littleGarbage, math.MaxInt64},
		{burstOver, all, live, someGarbage, math.MaxInt64},
		{burstHeld, 0, live, normalGarbage, math.MaxInt64},
		{burstHeld, all / 2, live, normalGarbage, math.MaxInt64},
		{burstHeld, all * 3 / 4, live, (3*littleGarbage + normalGarbage) / 4, math.MaxInt64},
		{burstBegins, all, leastGarbage, normalGarbage, math.MaxInt64},
		{burstBegins, all, leastGarbage / 4, 400, math.MaxInt64},
		{burstOver, 0, 0, 1000, math.MaxInt64},
	} {
		percent, limit := garbageLimits(tt.b, tt.conns, tt.live, stacks)
		if percent != tt.percent || limit != tt.limit {
			t.Errorf("%d, %d connections, %d live bytes: %d%%, at most %d bytes; want %d%%, %d bytes", tt.b, tt.conns, tt.live, percent, limit, tt.percent, tt.limit)
		}
	}
}

// After each collection the garbage that Go may keep follows the live memory.
func TestMemoryReclaimer_Collected(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before, limit := debug.SetGCPercent(normalGarbage), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) }()
	const most = 3 << 40
	r := &memoryReclaimer{free: func() {}, conns: noConns, limit: most}
	r.started()
	const other = normalGarbage + 11
	for range 2 {
		debug.SetGCPercent(other)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			runtime.GC() // again: what the next collection is noticed by may have been made during the last one
			if got := debug.SetGCPercent(other); got != other {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("a collection has not changed how much garbage Go may keep")
			}
		}
	}
	if limit := debug.SetMemoryLimit(-1); limit != most {
		t.Errorf("Go's memory is limited to %d bytes, want %d", limit, most)
	}
	r.end()
	if r.collected() {
		t.Error("collections are followed after the end")
	}
}
