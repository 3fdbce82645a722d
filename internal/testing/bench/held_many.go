package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

const (
	// manyHeld is how many calls one heldcall holds at once, and peakMany what it may use for that at most: the only limit besides the
	// ratchet on which the benchmark fails.
	manyHeld = 10_000
	peakMany = 600 << 20
	// heldBatch is how many of them begin at the same moment.
	heldBatch = 500
)

// manyResult is one version of heldcall with many calls held, from its start until it is ready again after kill -9 while it holds them.
type manyResult struct {
	Hop         string
	PerSecond   float64 // held and approved calls, before the others
	CallCPU     float64 // us of CPU of such a call
	Held        int
	HoldTook    time.Duration // from the first request until the last call was held
	Full        int64         // resident then
	Rest        int64         // resident, restTime later; 0 without a rest
	Decision    latency       // until the call's bytes are at the agent
	DecisionCPU float64       // us of CPU of a decision
	Peak        int64         // resident, highest
	Stopped     time.Duration // until the program has ended after SIGTERM
	Ready       time.Duration // from the start of the program after kill -9
	ReadyCPU    time.Duration // its CPU time until then
}

// manyCost is a figure of held calls that is compared with the base.
type manyCost struct {
	name   string
	judged bool
	of     func(manyResult) float64
}

// The figures of the step with many rounds, and of that with very many calls.
var (
	approvedCosts = []manyCost{
		{"held and approved calls: CPU us per call", true, func(r manyResult) float64 { return r.CallCPU }},
		{"held and approved calls: us per call", false, func(r manyResult) float64 { return 1e6 / r.PerSecond }},
		{"many held: MiB", true, func(r manyResult) float64 { return float64(r.Full) / (1 << 20) }},
		{"many held: decision to bytes, CPU us", true, func(r manyResult) float64 { return r.DecisionCPU }},
		{"many held: decision to bytes, p50 ms", false, func(r manyResult) float64 { return r.Decision.P50 }},
		{"many held: decision to bytes, p99 ms", false, func(r manyResult) float64 { return r.Decision.P99 }},
		{"many held: ready after kill -9, CPU s", true, func(r manyResult) float64 { return r.ReadyCPU.Seconds() }},
		{"many held: ready after kill -9, s", false, func(r manyResult) float64 { return r.Ready.Seconds() }},
	}
	veryManyCosts = []manyCost{
		{"very many held: peak MiB", false, func(r manyResult) float64 { return float64(r.Peak) / (1 << 20) }},
		{"very many held: MiB at rest", false, func(r manyResult) float64 { return float64(r.Rest) / (1 << 20) }},
		{"very many held: decision to bytes, p99 ms", false, func(r manyResult) float64 { return r.Decision.P99 }},
		{"very many held: ready after kill -9, s", false, func(r manyResult) float64 { return r.Ready.Seconds() }},
	}
)

// approvedCalls measures held and approved calls and many held ones in interleaved rounds, each with a fresh process of each version.
func (s *suite) approvedCalls() error {
	_, err := s.holdMany(min(s.rounds, pairsJudged), s.streams, 0, approvedCosts)
	return err
}

// heldMany holds very many calls once, and lets them rest.
func (s *suite) heldMany() error {
	all, err := s.holdMany(1, s.many, restTime, veryManyCosts)
	s.results.Many = append(s.results.Many, all...)
	for _, r := range all {
		if r.Hop == hopHeldcall && r.Held >= manyHeld && r.Peak > peakMany {
			return fmt.Errorf("%d held calls used %d MiB, more than %d", r.Held, r.Peak>>20, peakMany>>20)
		}
	}
	return err
}

// holdMany measures rounds with n held calls.
func (s *suite) holdMany(rounds, n int, rest time.Duration, costs []manyCost) (all []manyResult, err error) {
	samples := map[string][]manyResult{}
	for round := range rounds {
		for _, h := range s.round(round) {
			if h.console == nil {
				continue
			}
			err := s.fresh(h.name, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) error {
				r, err := s.holdManyIn(h, n, rest)
				samples[h.name], all = append(samples[h.name], r), append(all, r)
				return err
			})
			if err != nil {
				return all, err
			}
		}
	}
	for _, cost := range costs {
		s.compare(cost.name, cost.judged, each(samples[hopHeldcall], cost.of), each(samples[hopBase], cost.of))
	}
	return all, nil
}

// holdManyIn lets agents make calls that are approved at once, holds n calls in chat, decides some, stops heldcall, kills it, and starts it
// again on the same store.
func (s *suite) holdManyIn(h *hop, n int, rest time.Duration) (r manyResult, err error) {
	r.Hop, r.Held = h.name, n
	r.CallCPU, err = s.cpuOf(h, "held and approved calls", func() (calls int, err error) {
		r.PerSecond, calls, err = h.approveCalls(2 * s.duration)
		return calls, err
	})
	if err != nil {
		return r, err
	}
	held := &heldCalls{}
	defer func() { closeAgents(held.agents) }()
	began := time.Now()
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
	if held.ids, err = h.requestIDs(held.agents, time.Minute); err != nil {
		return r, err
	}
	if r.Full, err = h.resident(); err != nil {
		return r, err
	}
	if rest > 0 {
		time.Sleep(rest)
		if r.Rest, err = h.resident(); err != nil {
			return r, err
		}
	}
	if err := h.profiles.heap(h, "heap with many held"); err != nil {
		return r, err
	}
	r.DecisionCPU, err = s.cpuOf(h, "decisions", func() (int, error) {
		delays, err := h.decideAll(chat, held, s.decisions())
		r.Decision = newLatency(delays)
		return len(delays), err
	})
	if err != nil {
		return r, err
	}
	if r.Peak, err = peakMemory(h.pid()); err != nil {
		return r, err
	}
	err = h.killed(&r)
	return r, err
}

// killed stops heldcall, starts it, kills it, and measures its next start.
func (h *hop) killed(r *manyResult) (err error) {
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
	r.ReadyCPU, err = cpuTime(h.pid())
	return err
}

// resident is the resident memory of the hop, in bytes.
func (h *hop) resident() (int64, error) {
	used, err := memoryOf(h.pid())
	return used.Resident, err
}

// cpuOf runs f, which does something a number of times, and returns the microseconds of a hop's CPU time for each.
func (s *suite) cpuOf(h *hop, name string, f func() (times int, err error)) (micros float64, err error) {
	err = h.profiles.during(h, name, func() error {
		before, err := cpuTime(h.pid())
		if err != nil {
			return err
		}
		times, err := f()
		if err != nil {
			return err
		}
		after, err := cpuTime(h.pid())
		if err == nil && times == 0 {
			err = fmt.Errorf("%s: none within the time", name)
		}
		micros = float64((after - before).Microseconds()) / float64(times)
		return err
	})
	return micros, err
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
			took := time.Since(began)
			return took, h.profiles.started(h)
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
