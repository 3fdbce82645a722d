package main

import (
	"slices"

	"github.com/heldcall/heldcall/approvals/policy"
)

// window is the length of the worst minutes, in seconds.
const window = 300

// result is all sessions, judged in one variant.
type result struct {
	name     string
	sessions []*played
}

// measure judges all sessions.
func (v variant) measure(sessions []*session) (*result, error) {
	r := &result{name: v.name}
	for _, s := range sessions {
		p, err := v.play(s)
		if err != nil {
			return nil, err
		}
		r.sessions = append(r.sessions, p)
	}
	return r, nil
}

// figures are the counts of some sessions.
type figures struct {
	sessions, calls, prompts, denied int
	harmless, harmlessAsked          int
	risky, riskyPassed               int
	grants, useful, repeated         int // remembered decisions, those that allow a later call, and those before a harmless call of the same shape
	perSession, worst                []int
	questions, mixed                 int         // as people meet the prompts who look every so often, and those that mix risky and harmless calls
	sizes                            map[int]int // of the questions, by the number of their calls
	worstTogether                    []int
}

// of returns the figures of a kind of sessions.
func (r *result) of(kind string) figures {
	return r.where(func(s *session) bool { return s.Kind == kind })
}

// where returns the figures of the sessions that are chosen.
func (r *result) where(chosen func(*session) bool) figures {
	var f figures
	for _, p := range r.sessions {
		if chosen(p.session) {
			f.add(p)
		}
	}
	return f
}

// add counts a session.
func (f *figures) add(p *played) {
	var prompts []float64
	for _, c := range p.calls {
		asked := c.verdict.Action == policy.Ask
		f.calls++
		switch {
		case asked:
			prompts = append(prompts, c.At)
		case c.verdict.Action == policy.Deny:
			f.denied++
		}
		switch c.Label {
		case harmless:
			f.harmless++
			if asked {
				f.harmlessAsked++
			}
		case risky:
			f.risky++
			if c.verdict.Action == policy.Allow {
				f.riskyPassed++
			}
		}
	}
	for _, use := range p.grants {
		f.grants++
		if use.allowed {
			f.useful++
		}
		if use.allowed || use.like {
			f.repeated++
		}
	}
	f.sessions++
	f.prompts += len(prompts)
	f.perSession = append(f.perSession, len(prompts))
	f.worst = append(f.worst, mostWithin(prompts, window))
	f.addQuestions(p)
}

func (f *figures) promptsPer100() float64 { return percent(f.prompts, f.calls) }

// usefulGrants is the percentage of grants that allow a later call, of those that could: no grant
// is of use if nothing like its call comes again.
func (f *figures) usefulGrants() float64 { return percent(f.useful, f.repeated) }

func percent(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(part) / float64(all)
}

// mostWithin returns the most of some times, in order, that are less than a length apart.
func mostWithin(times []float64, length float64) int {
	most, first := 0, 0
	for i, at := range times {
		for at-times[first] >= length {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// percentile returns the smallest value that at least p percent of the values do not exceed.
func percentile(values []int, p int) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (p*len(sorted)+99)/100-1)]
}
