package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// manyHeld is how many calls one heldcall holds at once, and peakMany what it may use for that at most: the
// only limit besides the ratchet on which the benchmark fails.
const (
	manyHeld = 10_000
	peakMany = 600 << 20
	// heldBatch is how many of them begin at the same moment.
	heldBatch = 500
)

// manyResult is heldcall with very many calls held, and after kill -9 while it holds them.
type manyResult struct {
	Hop      string
	Held     int
	HoldTook time.Duration // from the first request until the last call was held
	Peak     int64         // resident, highest
	Rest     int64         // resident, restTime later
	Decision latency
	Stopped  time.Duration // until the program has ended
	Ready    time.Duration // from the start of the program
}

// heldMany measures both versions of heldcall with very many held calls.
func (s *suite) heldMany() error {
	costs := map[string]manyResult{}
	for _, name := range s.versions() {
		err := s.fresh(name, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) (err error) {
			costs[name], err = s.heldManyIn(h)
			return err
		})
		if err != nil {
			return err
		}
		s.results.Many = append(s.results.Many, costs[name])
	}
	now, base := costs[hopHeldcall], costs[hopBase]
	s.compare("very many held: peak MiB", false, []float64{float64(now.Peak >> 20)}, []float64{float64(base.Peak >> 20)})
	s.compare("very many held: decision to bytes, p50 ms", false, []float64{now.Decision.P50}, []float64{base.Decision.P50})
	s.compare("very many held: ready after kill -9, s", false, []float64{now.Ready.Seconds()}, []float64{base.Ready.Seconds()})
	if s.many >= manyHeld && now.Peak > peakMany {
		return fmt.Errorf("%d held calls used %d MiB, more than %d", s.many, now.Peak>>20, peakMany>>20)
	}
	return nil
}

// heldManyIn holds many calls in one dialect, decides some, stops heldcall, kills it, and starts it again on the same store.
func (s *suite) heldManyIn(h *hop) (manyResult, error) {
	n := s.many
	r := manyResult{Hop: h.name, Held: n}
	began := time.Now()
	held := &heldCalls{}
	defer func() { closeAgents(held.agents) }()
	for len(held.agents) < n+s.decisions() {
		more, err := holdStreams(h, chat, min(heldBatch, n+s.decisions()-len(held.agents)))
		held.agents = append(held.agents, more...)
		if err == nil {
			err = h.awaitPending(len(held.agents), time.Minute)
		}
		if err != nil {
			return r, err
		}
	}
	r.HoldTook = time.Since(began)
	var err error
	if held.ids, err = h.requestIDs(held.agents, time.Minute); err != nil {
		return r, err
	}
	time.Sleep(restTime)
	rest, err := memoryOf(h.pid())
	if err != nil {
		return r, err
	}
	r.Rest = rest.Resident
	if err := h.profiles.heap(h, "heap with very many held"); err != nil {
		return r, err
	}
	delays, err := h.decideAll(chat, held, s.decisions())
	if err != nil {
		return r, err
	}
	r.Decision = newLatency(delays)
	if r.Peak, err = peakMemory(h.pid()); err != nil {
		return r, err
	}
	if r.Stopped, err = h.ended(syscall.SIGTERM); err != nil {
		return r, err
	}
	if _, err = h.started(); err != nil {
		return r, err
	}
	if _, err = h.ended(syscall.SIGKILL); err != nil {
		return r, err
	}
	r.Ready, err = h.started()
	return r, err
}

// awaitPending waits until so many requests are pending.
func (h *hop) awaitPending(n int, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		pending, err := h.metric("heldcall_requests_pending")
		if err != nil {
			return err
		}
		if int(pending) >= n {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%.0f of %d held calls are pending requests after %s: %s", pending, n, limit, tail(h.logFile))
		}
	}
}

// ended sends heldcall a signal, and returns the time until it has ended.
func (h *hop) ended(signal syscall.Signal) (time.Duration, error) {
	began := time.Now()
	if err := h.cmd.Process.Signal(signal); err != nil {
		return 0, fmt.Errorf("send heldcall %s: %w", signal, err)
	}
	select {
	case <-h.exited:
		return time.Since(began), nil
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("heldcall has not ended a minute after %s: %s", signal, tail(h.logFile))
	}
}

// started starts heldcall again, and returns the time until it is ready.
func (h *hop) started() (time.Duration, error) {
	began := time.Now()
	if err := h.launch(); err != nil {
		return 0, err
	}
	for time.Since(began) < startLimit {
		if h.console.Ready(context.Background()) == nil {
			return time.Since(began), nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, fmt.Errorf("heldcall is not ready %s after its start: %s", startLimit, tail(h.logFile))
}

// startLimit is longer than the verification of the audit log of a million decided requests.
const startLimit = 10 * time.Minute

func manyTable(all []manyResult) table {
	t := table{
		title:  "Very many calls held at once, in chat",
		note:   fmt.Sprintf("the store synced to disk on each write; memory resident; ready after kill -9 on the same store; keepalive %s", defaultKeepalive),
		header: []string{"hop", "held", "until all were held", "peak MiB", fmt.Sprintf("MiB %s later", restTime), "decision to bytes p50 ms", "p99 ms", "max ms", "ended after SIGTERM", "ready again after"},
	}
	for _, r := range all {
		cells := append([]string{r.Hop, fmt.Sprint(r.Held), r.HoldTook.Round(time.Second / 10).String(), fmt.Sprint(r.Peak >> 20), fmt.Sprint(r.Rest >> 20)}, latencyCells(r.Decision)[1:]...)
		t.rows = append(t.rows, append(cells, r.Stopped.Round(time.Second/100).String(), r.Ready.Round(time.Second/100).String()))
	}
	return t
}
