package heldturns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// lateStore is a store whose last revisions cannot be read before a time.
type lateStore struct {
	Store
	until time.Time
}

func (b lateStore) Await(context.Context) error {
	if time.Now().Before(b.until) {
		return errors.New("no leader")
	}
	return nil
}

// noLeases are leases that the test renews.
type noLeases struct{ Leases }

// A request waits while it cannot be read what other processes have stored, and while the server may be
// cut off from the others, for at most maxStale.
func TestAwaitOthers(t *testing.T) {
	for name, test := range map[string]struct {
		unread, unrenewed time.Duration // from the beginning
		want              time.Duration
	}{
		"known":                         {},
		"not read for 2 s":              {unread: 2 * time.Second, want: 2 * time.Second},
		"lease renewed a while ago":     {unrenewed: time.Second, want: time.Second},
		"never read":                    {unread: time.Hour, want: maxStale},
		"cut off from the other server": {unrenewed: time.Hour, want: maxStale},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := New(Options{Store: lateStore{until: time.Now().Add(test.unread)}, Leases: noLeases{}})
				k.watches.add()(true)
				k.processes.renewedOwn()
				if test.unrenewed > 0 {
					time.Sleep(leaseCurrent + time.Millisecond)
					if test.unrenewed < maxStale {
						time.AfterFunc(test.unrenewed, k.processes.renewedOwn)
					}
				}
				if test.unread > 0 {
					k.store = lateStore{until: time.Now().Add(test.unread)}
				}
				began := time.Now()
				k.Await(t.Context())
				if took := time.Since(began); took < test.want || took > test.want+readPause {
					t.Errorf("waited %s, want %s", took, test.want)
				}
				if test.want == maxStale {
					began = time.Now()
					k.Await(t.Context())
					if took := time.Since(began); took != 0 {
						t.Errorf("the next request waited %s", took)
					}
				}
			})
		})
	}
}

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
