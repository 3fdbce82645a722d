package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadOf(t *testing.T) {
	f := func(rounds []float64, want *spread) {
		t.Helper()
		if diff := cmp.Diff(want, spreadOf(rounds)); diff != "" {
			t.Errorf("spreadOf(%v) differs (-want +got):\n%s", rounds, diff)
		}
	}
	f(nil, nil)
	f([]float64{7}, constant(7))
	f([]float64{9, 1, 2}, &spread{Median: 2, Q1: 1.5, Q3: 5.5, Min: 1, Max: 9})
	f([]float64{4, 1, 3, 2}, &spread{Median: 2.5, Q1: 1.75, Q3: 3.25, Min: 1, Max: 4})
}

// constant is a figure that was the same in all rounds.
func constant(x float64) *spread { return &spread{x, x, x, x, x} }

func TestSpreadOfLeavesItsInputAlone(t *testing.T) {
	rounds := []float64{3, 1, 2}
	spreadOf(rounds)
	if diff := cmp.Diff([]float64{3, 1, 2}, rounds); diff != "" {
		t.Errorf("the rounds were reordered, so that ratios would pair the wrong ones (-want +got):\n%s", diff)
	}
}

func TestRatiosPairRounds(t *testing.T) {
	f := func(of, to, want []float64) {
		t.Helper()
		if diff := cmp.Diff(want, ratios(of, to)); diff != "" {
			t.Errorf("ratios(%v, %v) differ (-want +got):\n%s", of, to, diff)
		}
	}
	f([]float64{2, 30}, []float64{1, 10}, []float64{2, 3}) // a machine ten times faster in the second round does not show
	f([]float64{2, 30, 5}, []float64{1}, []float64{2})
	f([]float64{2, 30}, []float64{0, 10}, []float64{3})
	f([]float64{2}, nil, []float64{})
}

func TestPercentile(t *testing.T) {
	f := func(samples []int64, q, want float64) {
		t.Helper()
		if got := percentile(samples, q); got != want {
			t.Errorf("percentile(%v, %v) = %v, want %v", samples, q, got, want)
		}
	}
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(100 - i)
	}
	f(hundred, 0.50, 50)
	f(hundred, 0.99, 99)
	f(hundred, 1, 100)
	f(hundred, 0, 1)
	f([]int64{5}, 0.99, 5)
	f([]int64{1, 2, 3}, 0.5, 2)
}

func TestLoadResultTakesRatiosWithinARound(t *testing.T) {
	second := sample{Units: 100, Elapsed: 1e9, HopCPU: 2e6, Latencies: []int64{1000}}
	slow := second
	slow.Elapsed = 2e9
	// The second round is twice as slow for both: heldcall is at half of fasthttp in each.
	half := func(s sample) sample {
		s.Units, s.Latencies = s.Units/2, []int64{2000}
		return s
	}
	samples := map[string][]sample{
		hopFasthttp: {second, slow},
		hopHeldcall: {half(second), half(slow)},
	}
	r := newLoadResult(workload{}, []string{hopFasthttp, hopHeldcall}, samples)
	h := r.find(hopHeldcall)
	if diff := cmp.Diff(constant(0.5), h.VsFasthttp); diff != "" {
		t.Errorf("throughput ratio (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(constant(2), h.CPUVs); diff != "" {
		t.Errorf("CPU ratio (-want +got):\n%s", diff)
	}
	if h.VsTCP != nil {
		t.Errorf("a ratio to a hop that did not run: %v", h.VsTCP)
	}
	if diff := cmp.Diff(constant(2), h.P50); diff != "" {
		t.Errorf("median exchange in us (-want +got):\n%s", diff)
	}
}

func TestPacedResultSubtractsTheDirectMedianOfTheSameRound(t *testing.T) {
	us := func(n ...int64) pacedSample {
		s := pacedSample{Events: len(n), HopCPU: 1}
		for _, d := range n {
			s.Delays = append(s.Delays, d*1000)
		}
		return s
	}
	r := newPacedResult(50, []string{hopDirect, hopTCP, hopHeldcall}, map[string][]pacedSample{
		hopDirect:   {us(10, 10, 10), us(40, 40, 40)},
		hopTCP:      {us(110, 110, 310), us(140, 140, 340)},
		hopHeldcall: {us(160, 160, 910), us(190, 190, 940)},
	})
	h := r.find(hopHeldcall)
	if diff := cmp.Diff(constant(1.5), h.AddedP50Vs); diff != "" {
		t.Errorf("added p50 of the TCP copy's (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(constant(3), h.AddedP99Vs); diff != "" {
		t.Errorf("added p99 of the TCP copy's (-want +got):\n%s", diff)
	}
}
