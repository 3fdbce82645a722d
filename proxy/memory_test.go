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
				r := &memoryReclaimer{free: func() { given.Add(1) }}
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
		r := &memoryReclaimer{free: func() { given.Add(1) }}
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
		r := &memoryReclaimer{free: func() { given.Add(1) }}
		r.started()
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
				r := &memoryReclaimer{free: func() { given.Add(1) }}
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
		r := &memoryReclaimer{free: func() { t.Error("memory is given back after the end") }}
		for range burstHolds {
			r.holdBegan()
		}
		r.end()
		r.holdBegan()
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

func TestLimitGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before, limit := debug.SetGCPercent(normalGarbage), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) }()
	live := make([]byte, 2*manyBytes)
	runtime.GC()
	for b, want := range map[burst]int{burstBegins: littleGarbage, burstHeld: littleGarbage, burstOver: someGarbage} {
		limitGarbage(b)
		got := debug.SetMemoryLimit(-1)
		if limited := got < 4*manyBytes && got > 2*manyBytes; limited != (b == burstBegins) || (!limited && got != math.MaxInt64) {
			t.Errorf("%d: with %d live bytes the limit is %d bytes", b, len(live), got)
		}
		if got := debug.SetGCPercent(normalGarbage); got != want {
			t.Errorf("%d: with %d live bytes Go may keep %d%% of garbage, want %d%%", b, len(live), got, want)
		}
	}
	runtime.KeepAlive(live)
	runtime.GC()
	limitGarbage(burstBegins)
	if got := debug.SetGCPercent(normalGarbage); got != normalGarbage {
		t.Errorf("with little live memory Go may keep %d%% of garbage, want %d%%", got, normalGarbage)
	}
}
