package policylearn

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// previewWidth is the longest preview of a call in a table, in runes.
const previewWidth = 60

// Replay is recorded calls as a policy judges them.
type Replay struct {
	Judged  int       `json:"judged"`
	Same    int       `json:"same"`
	Changed int       `json:"changed"`
	Skipped int       `json:"skipped"` // decided by a grant, or a call that wraps others
	Changes []*Change `json:"changes"`

	rules *judge.Rules
	known map[Change]*Change // without their numbers
}

// Change is a call, or several alike, that would have been decided otherwise.
type Change struct {
	Was     policy.Action `json:"was"`
	Now     policy.Action `json:"now"`
	Calls   int           `json:"calls"`
	Tool    string        `json:"tool"`
	Preview string        `json:"preview"`
	WasRule string        `json:"was_rule"`
	Rule    string        `json:"rule"`
	Reason  string        `json:"reason"`
}

// NewReplay returns a replay by a policy.
func NewReplay(rules *policy.Policy) *Replay {
	return &Replay{rules: judge.NewRules(rules), Changes: []*Change{}, known: map[Change]*Change{}}
}

// Take judges the call of an event, if it has one.
func (r *Replay) Take(e *approvals.Event) { r.takeBy(e, r.rules.Verdict) }

// takeBy is Take with the verdict, before limits, from a function.
func (r *Replay) takeBy(e *approvals.Event, verdict func(judge.Origin, intercept.Call) policy.Verdict) {
	from, call, was, ok := judge.Recorded(e)
	if !ok {
		return
	}
	reading := wrapped.Read(call, nil)
	wraps := reading.Kind == wrapped.Parallel || len(reading.Calls) > 0
	if byGrant := strings.HasPrefix(e.Rule, "grant ") || strings.Contains(e.Rule, ", grant "); wraps || byGrant {
		r.Skipped++
		return
	}
	r.Judged++
	v, _, _ := r.rules.Count(context.Background(), verdict(from, call)) // counts in memory do not fail
	if r.rules.AsksPeople(call.Name) {
		v = policy.QuestionVerdict()
	}
	if v.Action == was {
		r.Same++
		return
	}
	r.Changed++
	change := Change{Was: was, Now: v.Action, Tool: call.Name, Preview: v.Preview, WasRule: e.Rule, Rule: v.Rule, Reason: v.Reason}
	if r.known[change] == nil {
		like := change
		r.known[change] = &like
		r.Changes = append(r.Changes, &like)
	}
	r.known[change].Calls++
}

// Print shows what would have changed, and how much.
func (r *Replay) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Changes) > 0 {
		fmt.Fprintln(table, "WAS\tNOW\tCALLS\tTOOL\tCALL\tRULE")
	}
	for _, change := range r.Changes {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", change.Was, change.Now, change.Calls,
			sanitize.Line(change.Tool), shorten(sanitize.Line(change.Preview)), sanitize.Line(change.Rule))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d calls judged: %d as they were, %d otherwise; %d not judged\n", r.Judged, r.Same, r.Changed, r.Skipped)
	return err
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= previewWidth {
		return text
	}
	return string(runes[:previewWidth-1]) + "…"
}
