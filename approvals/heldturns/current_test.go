package heldturns

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwaitCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatches(time.Now)
		one, two := w.add(), w.add()
		one(true)
		select {
		case <-w.loaded:
			t.Fatal("loaded before all are current")
		default:
		}
		two(true)
		<-w.loaded
		took := func() time.Duration {
			began := time.Now()
			w.await(t.Context())
			return time.Since(began)
		}
		if d := took(); d != 0 {
			t.Errorf("current: waited %v", d)
		}
		one(false)
		two(false)
		two(false)
		go func() {
			time.Sleep(3 * time.Second)
			two(true)
			one(true)
		}()
		if d := took(); d != 3*time.Second {
			t.Errorf("current after 3 s: waited %v", d)
		}
		two(false)
		time.Sleep(4 * time.Second)
		if d := took(); d != maxStale-4*time.Second {
			t.Errorf("not current for 4 s: waited %v", d)
		}
		if d := took(); d != 0 {
			t.Errorf("not current for %v: waited %v", maxStale, d)
		}
		two(true)
		one(false)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.await(ctx) // would block for maxStale
	})
}
