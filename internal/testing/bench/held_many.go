package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// manyHeld is how many calls one heldcall holds at once, and peakMany what it may use for that at most: the
// only limit on which the benchmark fails.
const (
	manyHeld = 10_000
	peakMany = 600 << 20
	// heldBatch is how many of them begin at the same moment.
	heldBatch = 500
)

// manyResult is heldcall with very many calls held, and after kill -9 while it holds them.
type manyResult struct {
	Held     int           `json:"held"`
	HoldTook time.Duration `json:"hold_took_ns"` // from the first request until the last call was held
	Peak     int64         `json:"peak_bytes"`   // resident, highest
	Rest     int64         `json:"rest_bytes"`   // resident, restTime later
	Decision latency       `json:"decision_to_bytes"`
	Stopped  time.Duration `json:"stopped_after_sigterm_ns"` // until the program has ended
	Ready    time.Duration `json:"ready_after_kill_ns"`      // from the start of the program
}

// heldMany holds many calls in one dialect, decides some, stops heldcall, kills it, and starts it again on the same
// store.
func (s *suite) heldMany() error {
	if !s.has(hopHeldcall) {
		return nil
	}
	n := s.many
	return s.fresh(hopHeldcall, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) error {
		r := manyResult{Held: n}
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
				return err
			}
		}
		r.HoldTook = time.Since(began)
		var err error
		if held.ids, err = h.requestIDs(held.agents, time.Minute); err != nil {
			return err
		}
		time.Sleep(restTime)
		rest, err := memoryOf(h.pid())
		if err != nil {
			return err
		}
		r.Rest = rest.Resident
		if err := h.profiles.heap(h, "heap with very many held"); err != nil {
			return err
		}
		delays, err := h.decideAll(chat, held, s.decisions())
		if err != nil {
			return err
		}
		r.Decision = newLatency(delays)
		if r.Peak, err = peakMemory(h.pid()); err != nil {
			return err
		}
		if r.Stopped, err = h.ended(syscall.SIGTERM); err != nil {
			return err
		}
		if _, err = h.started(); err != nil {
			return err
		}
		if _, err = h.ended(syscall.SIGKILL); err != nil {
			return err
		}
		if r.Ready, err = h.started(); err != nil {
			return err
		}
		s.results.Many = append(s.results.Many, r)
		if n >= manyHeld && r.Peak > peakMany {
			return fmt.Errorf("%d held calls used %d MiB, more than %d", n, r.Peak>>20, peakMany>>20)
		}
		return nil
	})
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
		header: []string{"held", "until all were held", "peak MiB", fmt.Sprintf("MiB %s later", restTime), "decision to bytes p50 ms", "p99 ms", "max ms", "ended after SIGTERM", "ready again after"},
	}
	for _, r := range all {
		cells := append([]string{fmt.Sprint(r.Held), r.HoldTook.Round(time.Second / 10).String(), fmt.Sprint(r.Peak >> 20), fmt.Sprint(r.Rest >> 20)}, latencyCells(r.Decision)[1:]...)
		t.rows = append(t.rows, append(cells, r.Stopped.Round(time.Second/100).String(), r.Ready.Round(time.Second/100).String()))
	}
	return t
}
