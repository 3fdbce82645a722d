package gate

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

func TestSchedulerOrder(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(id string, after time.Duration) *timer { return &timer{id: id, at: start.Add(after)} }
	for name, c := range map[string]struct {
		timers []*timer
		remove []int // indexes in timers
		now    time.Duration
		want   []string
		wait   time.Duration
	}{
		"none":                     {wait: time.Hour},
		"in the order of times":    {timers: []*timer{in("b", 2), in("c", 3), in("a", 1)}, now: 3, want: []string{"a", "b", "c"}, wait: time.Hour},
		"those to come wait":       {timers: []*timer{in("b", 3*time.Millisecond), in("a", 0)}, want: []string{"a"}, wait: 3 * time.Millisecond},
		"a long wait is cut":       {timers: []*timer{in("a", time.Minute)}, wait: clockCheck},
		"removed":                  {timers: []*timer{in("a", 1), in("b", 2), in("c", 3)}, remove: []int{1}, now: 3, want: []string{"a", "c"}, wait: time.Hour},
		"removed, and once more":   {timers: []*timer{in("a", 1), in("b", 2)}, remove: []int{0, 0}, now: 3, want: []string{"b"}, wait: time.Hour},
		"the last one is removed":  {timers: []*timer{in("a", 1)}, remove: []int{0}, now: 3, wait: time.Hour},
		"at the time, not earlier": {timers: []*timer{in("a", 5)}, now: 5, want: []string{"a"}, wait: time.Hour},
	} {
		s := newScheduler(func() time.Time { return start.Add(c.now) })
		for _, one := range c.timers {
			s.add(one)
		}
		for _, i := range c.remove {
			s.remove(c.timers[i])
		}
		var got []string
		fired, wait := s.next()
		for ; fired != nil; fired, wait = s.next() {
			got = append(got, fired.id)
		}
		if !slices.Equal(got, c.want) || wait != c.wait {
			t.Errorf("%s: %q, then %s; want %q, then %s", name, got, wait, c.want, c.wait)
		}
	}
}

// Timers fire at their times, also if they are added later. A removed timer does not.
func TestSchedulerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := newScheduler(time.Now)
		fired := make(chan string, 10)
		at := map[string]time.Duration{}
		ctx, cancel := context.WithCancel(t.Context())
		done, ready := make(chan error), make(chan struct{})
		close(ready)
		go func() {
			done <- s.run(ctx, ready, func(_ context.Context, t *timer) { fired <- t.id })
		}()
		never := &timer{id: "never", at: start.Add(3 * time.Second)}
		s.add(&timer{id: "late", at: start.Add(5 * time.Second)})
		s.add(never)
		synctest.Wait()
		s.add(&timer{id: "early", at: start.Add(2 * time.Second)})
		s.retry(timer{id: "again"})
		s.remove(never)
		for range 3 {
			id := <-fired
			at[id] = time.Since(start)
		}
		cancel()
		if err := <-done; err != nil || len(fired) != 0 {
			t.Errorf("%v; %d more", err, len(fired))
		}
		want := map[string]time.Duration{"again": approvals.RetryDelay, "early": 2 * time.Second, "late": 5 * time.Second}
		for id, after := range want {
			if at[id] != after {
				t.Errorf("%s fired after %s, want %s", id, at[id], after)
			}
		}
	})
}
