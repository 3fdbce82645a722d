package main

import (
	"math"
	"slices"
)

// spread is a figure over the rounds. Half of the rounds lie between Q1 and Q3.
type spread struct {
	Median float64
	Q1     float64
	Q3     float64
	Min    float64
	Max    float64
}

// spreadOf summarises one figure per round; nil when there is none.
func spreadOf(rounds []float64) *spread {
	if len(rounds) == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(rounds))
	return &spread{Median: quantile(s, 0.5), Q1: quantile(s, 0.25), Q3: quantile(s, 0.75), Min: s[0], Max: s[len(s)-1]}
}

// quantile interpolates between the two nearest of a few sorted figures.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// ratios divides two figures round by round: noise that lasts longer than a round hits both and falls out. A round without a
// divisor is left out.
func ratios(of, to []float64) []float64 {
	n := min(len(of), len(to))
	out := make([]float64, 0, n)
	for i := range n {
		if to[i] != 0 {
			out = append(out, of[i]/to[i])
		}
	}
	return out
}

// each is one figure of all samples.
func each[S any](samples []S, figure func(S) float64) []float64 {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, figure(s))
	}
	return values
}

// percentile is the smallest sample that at least the share q of all samples does not exceed (nearest rank); it sorts the samples.
func percentile(samples []int64, q float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	slices.Sort(samples)
	rank := int(math.Ceil(q * float64(len(samples))))
	return float64(samples[min(max(rank, 1), len(samples))-1])
}
