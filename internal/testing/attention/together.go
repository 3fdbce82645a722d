package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// lookEvery is how often people look at what waits, in seconds.
const lookEvery = 30

// question is what people who look answer at once.
type question struct {
	at    float64 // of the look, in seconds since the start of the session
	calls []judged
}

// questions are the prompts of a session as people meet them who look every so often: all that waits of the run then, in as few
// questions as a card may join.
func (g *played) questions() (all []question) {
	looks := map[float64][]judged{}
	for _, c := range g.calls {
		if c.verdict.Action == policy.Ask {
			at := lookEvery * (math.Floor(c.At/lookEvery) + 1)
			looks[at] = append(looks[at], c)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(looks)) {
		var requests []approvals.Request
		for i, c := range looks[at] {
			requests = append(requests, g.request(strconv.Itoa(i), c.verdict))
		}
		for _, joined := range approvals.JointQuestions(requests) {
			one := question{at: at}
			for i := range joined {
				place, _ := strconv.Atoi(joined[i].ID)
				one.calls = append(one.calls, looks[at][place])
			}
			all = append(all, one)
		}
	}
	return all
}

// request is what people are asked about a call, as far as it matters for which calls are one question.
func (g *played) request(id string, v policy.Verdict) approvals.Request {
	r := approvals.Request{
		ID: id, Kind: approvals.KindPermission, Status: approvals.StatusPending, Principal: principalOf(g.session), SessionID: g.Session, RunID: g.Session,
		Rule: v.Rule, RiskLevel: v.Risk, Effects: v.Effects, Reviewers: v.Reviewers, RequiredApprovals: v.RequiredApprovals, OnTimeout: v.OnTimeout,
		Details: approvals.Details{ByDefault: v.ByDefault, Passkey: v.Passkey, Flags: v.Flags},
	}
	for _, d := range v.Demands {
		r.Demands = append(r.Demands, approvals.Demand{Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals})
	}
	r.Details.Confirm = v.Confirmation(id)
	r.Together = r.TogetherKey()
	return r
}

// mixes reports whether an answer to the question would decide risky and harmless calls alike.
func (q *question) mixes() bool {
	has := func(l label) bool { return slices.ContainsFunc(q.calls, func(c judged) bool { return c.Label == l }) }
	return has(risky) && has(harmless)
}

// addQuestions counts the questions of a session.
func (f *figures) addQuestions(p *played) {
	var times []float64
	if f.sizes == nil {
		f.sizes = map[int]int{}
	}
	for _, q := range p.questions() {
		times = append(times, q.at)
		f.sizes[len(q.calls)]++
		if q.mixes() {
			f.mixed++
		}
	}
	f.questions += len(times)
	f.worstTogether = append(f.worstTogether, mostWithin(times, window))
}

func (f *figures) questionsPer100() float64 { return percent(f.questions, f.calls) }

// printTogether prints the prompts single and joined, by kind and variant.
func printTogether(w io.Writer, results []*result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nTOGETHER, A LOOK EVERY %d S\tPROMPTS/100\tQUESTIONS/100\tWORST 5 MIN: PROMPTS P50/P90/MAX\tQUESTIONS\tQUESTIONS BY THEIR CALLS\tMIX RISKY AND HARMLESS\n", lookEvery)
	for _, kind := range kinds {
		for _, r := range results {
			f := r.of(kind)
			var sizes []string
			for _, size := range slices.Sorted(maps.Keys(f.sizes)) {
				sizes = append(sizes, fmt.Sprintf("%d of %d", f.sizes[size], size))
			}
			fmt.Fprintf(table, "%s, %s\t%.1f\t%.1f\t%s\t%s\t%s\t%d\n", kind, r.name, f.promptsPer100(), f.questionsPer100(), spread(f.worst), spread(f.worstTogether), strings.Join(sizes, ", "), f.mixed)
		}
	}
	return table.Flush()
}

// printMixed lists the calls of each question that mixes risky and harmless ones.
func printMixed(w io.Writer, results []*result) {
	for _, r := range results {
		for _, s := range r.sessions {
			for _, q := range s.questions() {
				if !q.mixes() {
					continue
				}
				fmt.Fprintf(w, "%s: %s at %g: one question about risky and harmless calls\n", r.name, s.Session, q.at)
				for _, c := range q.calls {
					fmt.Fprintf(w, "  %s: %s %s\n", c.Label, c.Tool, shorten(c.verdict.Preview))
				}
			}
		}
	}
}
