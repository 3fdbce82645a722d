package natskv

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPositionReach(t *testing.T) {
	for name, test := range map[string]struct {
		watch func(p *Position) // from the call on
		want  error
		after time.Duration
	}{
		"read before":         {watch: func(p *Position) {}, after: 0},
		"read later":          {watch: func(p *Position) { time.Sleep(time.Second); p.read(7); p.read(8) }, after: time.Second},
		"not current":         {watch: func(p *Position) { time.Sleep(time.Second); p.setCurrent(false) }, want: ErrBehind, after: time.Second},
		"removed revisions":   {watch: func(p *Position) { time.Sleep(time.Second); p.read(7) }, after: settled + time.Second},
		"current again later": {watch: func(p *Position) { p.mu.Lock(); p.current = time.Now().Add(time.Second); p.mu.Unlock(); p.read(7) }, after: settled + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p Position
				p.setCurrent(true)
				p.read(6)
				if name == "read before" {
					p.read(9)
				}
				began := time.Now()
				go test.watch(&p)
				synctest.Wait()
				if err := p.reach(t.Context(), 8); !errors.Is(err, test.want) || time.Since(began) != test.after {
					t.Errorf("error %v after %s, want %v after %s", err, time.Since(began), test.want, test.after)
				}
				if test.want == nil {
					if err := p.reach(t.Context(), 8); err != nil || time.Since(began) != test.after {
						t.Errorf("the second call: error %v after %s", err, time.Since(began))
					}
				}
				synctest.Wait()
			})
		})
	}
}

func TestPositionReachEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Position
		p.setCurrent(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.reach(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A caller gets the result of a read that began after its call. One read serves all callers that wait.
func TestSharedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedRead
		var begun atomic.Uint64
		read := func(context.Context) (uint64, error) {
			n := begun.Add(1)
			time.Sleep(time.Second)
			return n, nil
		}
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // all before the end of the first read
				before := begun.Load()
				got, err := s.do(t.Context(), read)
				if err != nil || (got <= before && i > 0) {
					t.Errorf("caller %d got read %d, %v; %d had begun before its call", i, got, err, before)
				}
			})
		}
		callers.Wait()
		if n := begun.Load(); n != 2 {
			t.Errorf("%d reads, want 2", n)
		}
	})
}

// A watch that is late is not settled while it reads.
func TestReachWaitsForALateWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := &Position{}, time.Now()
		p.setCurrent(true)
		go func() {
			for revision := range uint64(10) {
				time.Sleep(time.Second)
				p.read(revision + 1)
			}
		}()
		if err := p.reach(t.Context(), 10); err != nil {
			t.Error(err)
		}
		if after := time.Since(began); after != 10*time.Second {
			t.Errorf("the watch has read everything after %s, it read the last revision after 10 s", after)
		}
		if err := p.reach(t.Context(), 12); err != nil || time.Since(began) != 10*time.Second+settled { // 11 and 12 were removed
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// A caller that gives up early finds out in the end that the last revisions were removed.
func TestReachOfCallersThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := &Position{}, time.Now()
		p.setCurrent(true)
		time.Sleep(time.Minute)
		for attempts := 1; ; attempts++ {
			ctx, cancel := context.WithTimeout(t.Context(), settled/2)
			err := p.reach(ctx, 5)
			cancel()
			if err == nil {
				break
			}
			if attempts == 3 {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
		}
	})
}
