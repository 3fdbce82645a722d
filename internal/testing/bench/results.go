package main

import (
	"math"
	"time"
)

// results is everything one run found.
type results struct {
	Go        string
	CPUs      int
	Rounds    int
	Foreign   float64 // of the CPU time used while hops were loaded, by programs that are no part of this
	Load      []loadResult
	Paced     []pacedResult
	Memory    []memoryResult
	Held      []heldResult
	Many      []manyResult
	History   []historyResult
	Leaving   []leaveResult
	Channels  []channelResult
	Judging   []judgingResult
	Integrity *integrity
	Figures   []figure
	Targets   []target
	Failures  []string
}

// loadResult is one full-speed workload over all hops.
type loadResult struct {
	Workload workload
	Hops     []hopLoad
}

// hopLoad is one hop's figures over the rounds. Ratios are taken within a round.
type hopLoad struct {
	Hop        string
	PerSecond  *spread
	VsFasthttp *spread
	VsTCP      *spread
	CPU        *spread
	CPUVs      *spread
	OthersCPU  *spread // load generator and upstream
	P50        *spread
	P99        *spread
	Exchanges  int
}

// find gives the figures of a hop, nil if it did not run.
func (l loadResult) find(hop string) *hopLoad {
	for i := range l.Hops {
		if l.Hops[i].Hop == hop {
			return &l.Hops[i]
		}
	}
	return nil
}

// newLoadResult folds the samples of all rounds, by hop.
func newLoadResult(w workload, hops []string, samples map[string][]sample) loadResult {
	speed, cpu := map[string][]float64{}, map[string][]float64{}
	for hop, ss := range samples {
		for _, s := range ss {
			speed[hop] = append(speed[hop], s.perSecond())
			if s.HopCPU > 0 {
				cpu[hop] = append(cpu[hop], s.cpuPerUnit())
			}
		}
	}
	r := loadResult{Workload: w}
	for _, hop := range hops {
		var p50, p99, others []float64
		h := hopLoad{Hop: hop}
		for _, s := range samples[hop] {
			p50 = append(p50, percentile(s.Latencies, 0.50)/1e3)
			p99 = append(p99, percentile(s.Latencies, 0.99)/1e3)
			others = append(others, float64(s.OthersCPU.Nanoseconds())/1e3/float64(s.Units))
			h.Exchanges += len(s.Latencies)
		}
		h.PerSecond, h.CPU = spreadOf(speed[hop]), spreadOf(cpu[hop])
		h.VsFasthttp = spreadOf(ratios(speed[hop], speed[hopFasthttp]))
		h.VsTCP = spreadOf(ratios(speed[hop], speed[hopTCP]))
		h.CPUVs = spreadOf(ratios(cpu[hop], cpu[hopFasthttp]))
		h.P50, h.P99, h.OthersCPU = spreadOf(p50), spreadOf(p99), spreadOf(others)
		r.Hops = append(r.Hops, h)
	}
	return r
}

// pacedResult is paced streams over all hops.
type pacedResult struct {
	Streams int
	Hops    []hopPaced
}

// hopPaced is one hop's delay per event in microseconds. Added is the delay less the median delay without a hop in the same round.
type hopPaced struct {
	Hop         string
	P50         *spread
	P99         *spread
	AddedP50    *spread
	AddedP99    *spread
	AddedP50Vs  *spread
	AddedP99Vs  *spread
	CPU         *spread
	EventsTimed int
}

// find gives the figures of a hop, nil if it did not run.
func (p pacedResult) find(hop string) *hopPaced {
	for i := range p.Hops {
		if p.Hops[i].Hop == hop {
			return &p.Hops[i]
		}
	}
	return nil
}

// newPacedResult folds the samples of all rounds, by hop.
func newPacedResult(streams int, hops []string, samples map[string][]pacedSample) pacedResult {
	p50, p99 := map[string][]float64{}, map[string][]float64{}
	for hop, ss := range samples {
		for _, s := range ss {
			p50[hop] = append(p50[hop], percentile(s.Delays, 0.50)/1e3)
			p99[hop] = append(p99[hop], percentile(s.Delays, 0.99)/1e3)
		}
	}
	added := func(of []float64) []float64 {
		var out []float64
		for i := range min(len(of), len(p50[hopDirect])) {
			out = append(out, math.Max(0, of[i]-p50[hopDirect][i]))
		}
		return out
	}
	r := pacedResult{Streams: streams}
	for _, hop := range hops {
		h := hopPaced{Hop: hop, P50: spreadOf(p50[hop]), P99: spreadOf(p99[hop])}
		var cpu []float64
		for _, s := range samples[hop] {
			h.EventsTimed += len(s.Delays)
			if s.HopCPU > 0 {
				cpu = append(cpu, s.cpuPerEvent())
			}
		}
		h.CPU = spreadOf(cpu)
		if hop != hopDirect {
			h.AddedP50, h.AddedP99 = spreadOf(added(p50[hop])), spreadOf(added(p99[hop]))
			h.AddedP50Vs = spreadOf(ratios(added(p50[hop]), added(p50[hopTCP])))
			h.AddedP99Vs = spreadOf(ratios(added(p99[hop]), added(p99[hopTCP])))
		}
		r.Hops = append(r.Hops, h)
	}
	return r
}

// memoryResult is the memory of a fresh hop.
type memoryResult struct {
	Hop     string
	Dialect string
	footprint
}

// heldResult is a version of heldcall with calls held.
type heldResult struct {
	Hop     string
	Dialect string
	footprint
	AtRest    float64 // resident, more per stream, after restTime of holding
	Keepalive time.Duration
	One       latency
	Many      latency
}

// latency is a distribution in milliseconds.
type latency struct {
	Samples int
	P50     float64
	P99     float64
	Max     float64
}

func newLatency(ns []int64) latency {
	if len(ns) == 0 {
		return latency{}
	}
	return latency{len(ns), percentile(ns, 0.5) / 1e6, percentile(ns, 0.99) / 1e6, percentile(ns, 1) / 1e6}
}

// leaveResult is agents leaving a hop in one way.
type leaveResult struct {
	Hop    string
	Kind   string
	Until  string // the event that ends the wait
	Limit  string
	Missed int // not within the limit
	Took   latency
	held   bool
}
