package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	root     string        // of this module
	events   int64         // of the correctness run
	limit    time.Duration // of the correctness run
	only     *regexp.Regexp
	whole    bool // all steps and hops of the length of the run
	hopNames []string
	heldcall string // the program of today; built when empty
	profiles string // folder; empty for none
	short    bool
	known    []knownFigure
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
	base     string // the program of the base
	hops     []*hop // the ones at full speed; heldcall's policy allows what the workloads call
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
	s.results = results{Go: runtime.Version(), CPUs: runtime.NumCPU(), Rounds: o.rounds}
	if err := checkOpenFiles(max(2*o.streams, o.many) + 1000); err != nil {
		return s.results, err
	}
	if s.upstream, err = startRole("upstream", ""); err != nil {
		return s.results, err
	}
	defer s.upstream.stop()
	if err := s.build(); err != nil {
		return s.results, err
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

// build makes the programs of both versions of heldcall, as far as they are measured.
func (s *suite) build() error {
	if slices.Contains(s.hopNames, hopHeldcall) && s.heldcall == "" {
		s.say("building heldcall")
		s.heldcall = filepath.Join(s.dir, "heldcall")
		if err := buildHeldcall(s.root, s.heldcall, s.profiles != ""); err != nil {
			return err
		}
	}
	if !slices.Contains(s.hopNames, hopBase) {
		return nil
	}
	revision, err := readBase(s.root)
	if err == nil {
		s.say("building the base, %s, unless that was done before", revision)
		s.base, err = buildBase(s.root, revision, s.profiles != "")
	}
	return err
}

// measure runs the steps in order. A short run has no steps that wait for memory to settle or fill a store.
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
	s.step("approved calls", s.approvedCalls)
	s.longStep("memory, open streams", s.memory)
	s.longStep("held", s.held)
	s.longStep("many held", s.heldMany)
	s.longStep("history", s.history)
	s.step("soak", s.soak)
	s.step("leaving, streaming", s.leaveStreaming)
	s.step("leaving, held", s.leaveHeld)
	s.longStep("channels", s.channels)
	s.step("judging", s.judging)
	s.step("correctness", s.correctness)
}

// longStep is a step that a short run has only if it was asked for by name.
func (s *suite) longStep(name string, f func() error) {
	if !s.short || s.only != nil {
		s.step(name, f)
	}
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
		for _, h := range s.hops {
			if h.logFile != "" {
				s.say("%s's log ends with: %s", h.name, tail(h.logFile))
			}
		}
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
	case hopHeldcall, hopBase:
		program := s.heldcall
		if name == hopBase {
			program = s.base
		}
		o.profiles = s.profiles
		return startHeldcall(name, program, s.dir, s.upstream.addr, o)
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

// loadRounds adds the samples of as many rounds as a run has. They are numbered from first.
func (s *suite) loadRounds(w workload, first int, samples map[string][]sample) error {
	for r := range s.rounds {
		for _, h := range s.round(first + r) {
			err := h.profiles.during(h, w.Name, func() error {
				taken, err := drive(h, s.upstream, w, s.duration)
				samples[h.name] = append(samples[h.name], taken)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	return nil
}

// load runs one full-speed workload in interleaved rounds, and as many more if all of them have shown that it is slower than in the base:
// those may have been beside the garbage collection of one of the programs.
func (s *suite) load(w workload) error {
	samples := map[string][]sample{}
	cpu := w.Name + ": CPU us per " + w.unit()
	if err := s.loadRounds(w, 0, samples); err != nil {
		return err
	}
	if s.isSlower(cpu, each(samples[hopHeldcall], sample.cpuPerUnit), each(samples[hopBase], sample.cpuPerUnit)) {
		s.say("%s: slower than the base in each round: as many more", w.Name)
		if err := s.loadRounds(w, s.rounds, samples); err != nil {
			return err
		}
	}
	s.results.Load = append(s.results.Load, newLoadResult(w, s.names(), samples))
	now, base := samples[hopHeldcall], samples[hopBase]
	s.compare(cpu, true, each(now, sample.cpuPerUnit), each(base, sample.cpuPerUnit))
	s.compare(w.Name+": us per "+w.unit(), false, each(now, sample.perUnit), each(base, sample.perUnit))
	for _, h := range s.hops {
		if err := h.profiles.heap(h, "heap after "+w.Name); err != nil {
			return err
		}
	}
	return nil
}

// paced runs paced streams in interleaved rounds: longer ones, because a delay's 99th percentile needs many events.
func (s *suite) paced(streams int) error {
	samples := map[string][]pacedSample{}
	for r := range min(s.rounds, pairsJudged) {
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
	now, base := samples[hopHeldcall], samples[hopBase]
	s.compare(fmt.Sprintf("%d paced streams: CPU us per event", streams), true, each(now, pacedSample.cpuPerEvent), each(base, pacedSample.cpuPerEvent))
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

// versions are the hops that are heldcall.
func (s *suite) versions() []string {
	return slices.DeleteFunc(s.names(), func(name string) bool { return name != hopHeldcall && name != hopBase })
}

// has reports whether a hop runs.
func (s *suite) has(name string) bool { return slices.Contains(s.names(), name) }
