package proxy

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRest(t *testing.T) {
	for name, c := range map[string]struct{ holds, want int }{
		"a few holds": {restWorth - 1, 0},
		"a burst":     {restWorth, 2},
		"a great one": {50 * restWorth, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				given := 0
				r := &rest{giveBack: func() { given++ }}
				for range c.holds {
					if r.held(); given > 0 {
						t.Fatal("memory is given back while holds begin")
					}
					time.Sleep(restAfter / 100)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if given != c.want {
					t.Errorf("memory is given back %d times, want %d", given, c.want)
				}
			})
		})
	}
}

func TestRest_EachBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := 0
		r := &rest{giveBack: func() { given++ }}
		for range 3 {
			for range restWorth {
				r.held()
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if given != 6 {
			t.Errorf("memory is given back %d times after three bursts, want 6", given)
		}
	})
}

func TestRest_AfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := 0
		r := &rest{giveBack: func() { given++ }}
		r.started()
		time.Sleep(time.Hour)
		synctest.Wait()
		if given != 2 {
			t.Errorf("memory is given back %d times after the start, want 2", given)
		}
	})
}

func TestRest_EndsWithTheProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rest{giveBack: func() { t.Error("memory is given back after the end") }}
		for range restWorth {
			r.held()
		}
		r.end()
		r.held()
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}
