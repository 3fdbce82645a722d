package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"
)

// options are the flags of a run.
type options struct {
	rounds   int
	duration time.Duration
	streams  int           // open and held at once
	many     int           // held at once in the step of very many
	decided  int           // requests of the history
	soakFor  time.Duration // 0: no soak
	settle   time.Duration // how long memory is left alone before it is read
	events   int64         // of the correctness run
	limit    time.Duration // of the correctness run
	only     *regexp.Regexp
	hopNames []string
	heldcall string // the binary; built when empty
	profiles string // folder; empty for none
	short    bool
	progress io.Writer
}

// Keep-alives of heldcall: the default where memory and decisions are measured, a short one where agents leave held calls.
const (
	defaultKeepalive = 10 * time.Second
	leaveKeepalive   = time.Second
)

// suite is one run of the benchmark.
type suite struct {
	options
	dir      string // temporary
	upstream *process
	hops     []*hop // the ones at full speed; heldcall's policy allows everything
	noise    noise
	results  results
}

// runSuite measures everything that was asked for. What fails is listed in the results and does not stop the rest.
func runSuite(o options) (results, error) {
	dir, err := os.MkdirTemp("", "heldcall-bench-")
	if err != nil {
		return results{}, fmt.Errorf("temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	s := &suite{options: o, dir: dir}
	s.results = results{Go: runtime.Version(), CPUs: runtime.NumCPU(), Started: time.Now(), Rounds: o.rounds}
	if err := checkOpenFiles(max(2*o.streams, o.many) + 1000); err != nil {
		return s.results, err
	}
	if s.upstream, err = startRole("upstream", ""); err != nil {
		return s.results, err
	}
	defer s.upstream.stop()
	if slices.Contains(o.hopNames, hopHeldcall) && o.heldcall == "" {
		s.say("building heldcall")
		if s.heldcall, err = buildHeldcall(dir, o.profiles != ""); err != nil {
			return s.results, err
		}
	}
	for _, name := range o.hopNames {
		h, err := s.start(name, heldcallOptions{policy: "allow", keepalive: defaultKeepalive})
		if err != nil {
			return s.results, err
		}
		defer h.stop()
		s.hops = append(s.hops, h)
	}
	s.measure()
	s.results.Foreign = s.noise.foreign()
	s.results.Targets = judge(&s.results)
	return s.results, nil
}

// measure runs the steps in order.
func (s *suite) measure() {
	for _, w := range workloads() {
		s.step(w.Name, func() error { return s.noise.listen(s.hops, s.upstream, func() error { return s.load(w) }) })
	}
	s.step("allowed calls", s.allowedCalls)
	for _, streams := range []int{50, 200} {
		s.step(fmt.Sprintf("paced, %d streams", streams), func() error {
			return s.noise.listen(s.hops, s.upstream, func() error { return s.paced(streams) })
		})
	}
	s.step("memory, open streams", s.memory)
	s.step("held", s.held)
	s.step("many held", s.heldMany)
	s.step("history", s.history)
	s.step("soak", s.soak)
	s.step("leaving, streaming", s.leaveStreaming)
	s.step("leaving, held", s.leaveHeld)
	s.step("channels", s.channels)
	s.step("judging", s.judging)
	s.step("correctness", s.correctness)
}

// step runs one part of the benchmark if it was asked for.
func (s *suite) step(name string, f func() error) {
	if s.only != nil && !s.only.MatchString(name) {
		return
	}
	start := time.Now()
	if err := f(); err != nil {
		s.results.Failures = append(s.results.Failures, fmt.Sprintf("%s: %v", name, err))
		s.say("%s: FAILED: %v", name, err)
		return
	}
	s.say("%s: %.1f s", name, time.Since(start).Seconds())
	s.upstream.drain()
}

func (s *suite) say(format string, args ...any) {
	fmt.Fprintf(s.progress, format+"\n", args...)
}

// start gives a fresh hop.
func (s *suite) start(name string, o heldcallOptions) (*hop, error) {
	switch name {
	case hopDirect:
		return &hop{name: name, addr: s.upstream.addr}, nil
	case hopHeldcall:
		o.profiles = s.profiles
		return startHeldcall(s.heldcall, s.dir, s.upstream.addr, o)
	}
	p, err := startRole(name, s.upstream.addr)
	if err != nil {
		return nil, err
	}
	return &hop{name: name, addr: p.addr, process: p}, nil
}

// names are the hops that run, in their order.
func (s *suite) names() []string {
	var out []string
	for _, h := range s.hops {
		out = append(out, h.name)
	}
	return out
}

// round gives the hops in the order of one round: each round begins with another.
func (s *suite) round(n int) []*hop {
	i := n % len(s.hops)
	return slices.Concat(s.hops[i:], s.hops[:i])
}

// load runs one full-speed workload in interleaved rounds.
func (s *suite) load(w workload) error {
	samples := map[string][]sample{}
	for r := range s.rounds {
		for _, h := range s.round(r) {
			err := h.profiles.during(h, w.Name, func() error {
				one, err := drive(h, s.upstream, w, s.duration)
				samples[h.name] = append(samples[h.name], one)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	s.results.Load = append(s.results.Load, newLoadResult(w, s.names(), samples))
	for _, h := range s.hops {
		if err := h.profiles.heap(h, "heap after "+w.Name); err != nil {
			return err
		}
	}
	return nil
}

// paced runs paced streams in interleaved rounds: fewer and longer ones, because a delay's 99th percentile needs many events.
func (s *suite) paced(streams int) error {
	samples := map[string][]pacedSample{}
	for r := range max(1, (s.rounds+1)/2) {
		for _, h := range s.round(r) {
			name := fmt.Sprintf("paced-%d", streams)
			err := h.profiles.during(h, name, func() error {
				one, err := drivePaced(h, s.upstream, streams, 3*s.duration)
				samples[h.name] = append(samples[h.name], one)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	s.results.Paced = append(s.results.Paced, newPacedResult(streams, s.names(), samples))
	return nil
}

// fresh runs f with a hop that nothing has gone through yet.
func (s *suite) fresh(name string, o heldcallOptions, f func(*hop) error) error {
	h, err := s.start(name, o)
	if err != nil {
		return err
	}
	defer h.stop()
	if err := f(h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// has reports whether a hop runs.
func (s *suite) has(name string) bool { return slices.Contains(s.names(), name) }
