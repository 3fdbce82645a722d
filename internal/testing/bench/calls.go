package main

import (
	"fmt"
	"syscall"
	"time"
)

// heldSample is what one version of heldcall did with held calls in one round, from its start until it is ready again after kill -9.
type heldSample struct {
	perSecond   float64 // held and approved calls
	callCPU     float64 // us of CPU of such a call
	resident    float64 // MiB with many calls held
	decisionCPU float64 // us of CPU of a decision, while many calls are held
	decision    latency // until the call's bytes are at the agent
	ready       float64 // s from the start after kill -9
	readyCPU    float64 // s of CPU until then
}

// heldCosts are the figures of held calls that are compared with the base.
var heldCosts = []struct {
	name   string
	judged bool
	of     func(heldSample) float64
}{
	{"held and approved calls of many agents: CPU us", true, func(s heldSample) float64 { return s.callCPU }},
	{"held and approved calls of many agents: us", false, func(s heldSample) float64 { return 1e6 / s.perSecond }},
	{"many held: MiB", true, func(s heldSample) float64 { return s.resident }},
	{"many held: decision to bytes, CPU us", true, func(s heldSample) float64 { return s.decisionCPU }},
	{"many held: decision to bytes, p50 ms", false, func(s heldSample) float64 { return s.decision.P50 }},
	{"many held: decision to bytes, p99 ms", false, func(s heldSample) float64 { return s.decision.P99 }},
	{"many held: ready after kill -9, CPU s", true, func(s heldSample) float64 { return s.readyCPU }},
	{"many held: ready after kill -9, s", false, func(s heldSample) float64 { return s.ready }},
}

// approvedCalls measures held and approved calls in chat in interleaved rounds, each with a fresh process of each version.
func (s *suite) approvedCalls() error {
	samples := map[string][]heldSample{}
	for r := range s.rounds {
		for _, h := range s.round(r) {
			if h.console == nil {
				continue
			}
			err := s.fresh(h.name, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) error {
				sample, err := s.heldRound(h)
				samples[h.name] = append(samples[h.name], sample)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	for _, cost := range heldCosts {
		s.compare(cost.name, cost.judged, each(samples[hopHeldcall], cost.of), each(samples[hopBase], cost.of))
	}
	return nil
}

// heldRound lets agents make calls that are approved at once, holds many, decides some, kills heldcall and starts it again.
func (s *suite) heldRound(h *hop) (sample heldSample, err error) {
	sample.callCPU, err = s.cpuOf(h, "held and approved calls", func() (calls int, err error) {
		sample.perSecond, calls, err = h.approveCalls(2 * s.duration)
		return calls, err
	})
	if err != nil {
		return sample, err
	}
	agents, err := holdStreams(h, chat, s.streams)
	if err != nil {
		return sample, err
	}
	held := &heldCalls{agents: agents}
	defer closeAgents(agents)
	if held.ids, err = h.requestIDs(agents, 30*time.Second); err != nil {
		return sample, err
	}
	used, err := memoryOf(h.pid())
	if err != nil {
		return sample, err
	}
	sample.resident = float64(used.Resident) / (1 << 20)
	sample.decisionCPU, err = s.cpuOf(h, "decisions", func() (int, error) {
		delays, err := h.decideAll(chat, held, s.decisions())
		sample.decision = newLatency(delays)
		return len(delays), err
	})
	if err != nil {
		return sample, err
	}
	if _, err = h.ended(syscall.SIGKILL); err != nil {
		return sample, err
	}
	ready, err := h.started()
	if err != nil {
		return sample, err
	}
	cpu, err := cpuTime(h.pid())
	sample.ready, sample.readyCPU = ready.Seconds(), cpu.Seconds()
	return sample, err
}

// cpuOf runs f, which does something a number of times, and returns the microseconds of a hop's CPU time for each.
func (s *suite) cpuOf(h *hop, name string, f func() (times int, err error)) (micros float64, err error) {
	err = h.profiles.during(h, name, func() error {
		before, err := readClocks(h, s.upstream)
		if err != nil {
			return err
		}
		times, err := f()
		if err != nil {
			return err
		}
		after, err := readClocks(h, s.upstream)
		if err != nil {
			return err
		}
		if times == 0 {
			return fmt.Errorf("%s: none within the time", name)
		}
		micros = float64((after.hop - before.hop).Nanoseconds()) / 1e3 / float64(times)
		return nil
	})
	return micros, err
}
