package textview

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Explanation describes for a terminal how a policy judges a call.
func Explanation(e policy.Explanation) string {
	var page strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&page, "%-9s %s\n", name, Indent(sanitize.Lines(value), 10))
		}
	}
	line("Verdict", fmt.Sprintf("%s, by %s", e.Verdict.Action, cmp.Or(e.Verdict.Rule, "no rule")))
	line("Why", e.Verdict.Reason)
	line("Risk", string(e.Verdict.Risk))
	if e.Confirm != "" {
		line("Confirm", "the reviewer types "+strconv.Quote(e.Confirm))
	}
	if e.Verdict.Passkey {
		line("Confirm", "the reviewer uses a passkey")
	}
	line("Effects", approvals.EffectsText(e.Verdict.Effects))
	line("Tool", e.Known)
	line("Reads", e.Reads)
	if e.Taint != "" {
		line("Taint", "the run is tainted once the model reads the result ("+e.Taint+")")
	}
	for _, command := range e.Commands {
		line("Runs", command)
	}
	line("Doubt", e.Doubt)
	for _, flag := range e.Verdict.Flags {
		if flag != e.Doubt {
			line("Warning", flag)
		}
	}
	for _, limit := range e.Verdict.Limits {
		line("Limit", fmt.Sprintf("%s, then %s (%s)", &limit, limit.Then, limit.Where()))
	}
	for _, pattern := range e.Verdict.Suggested {
		line("Suggested", pattern)
	}
	for _, r := range e.Rules {
		mark := " "
		if r.Applies {
			mark = "*"
		}
		fmt.Fprintf(&page, "%s %s: %s %s: %s\n", mark, sanitize.Line(r.Where), r.List, sanitize.Line(r.Pattern), sanitize.Line(r.Says))
	}
	return page.String()
}

// ExplanationJSON returns an explanation in the form that its JSON has.
func ExplanationJSON(e policy.Explanation) any {
	type rule struct {
		Where   string        `json:"where"`
		List    policy.Action `json:"list"`
		Pattern string        `json:"pattern"`
		Applies bool          `json:"applies"`
		Says    string        `json:"says"`
	}
	type limit struct {
		Where     string        `json:"where"`
		PerTurn   int           `json:"per_turn,omitempty"`
		PerRun    int           `json:"per_run,omitempty"`
		PerMinute int           `json:"per_minute,omitempty"`
		Then      policy.Action `json:"then"`
	}
	shown := struct {
		Action    policy.Action      `json:"action"`
		Rule      string             `json:"rule"`
		Reason    string             `json:"reason"`
		Risk      approvals.Risk     `json:"risk"`
		Effects   []approvals.Effect `json:"effects"`
		Resource  string             `json:"resource"`
		Tool      string             `json:"tool"`
		Commands  []string           `json:"commands"`
		Doubt     string             `json:"doubt"`
		Flags     []string           `json:"flags"`
		Suggested []string           `json:"suggested_patterns"`
		Limits    []limit            `json:"limits"`
		Rules     []rule             `json:"rules"`
		Reads     string             `json:"reads,omitempty"`
		Taint     string             `json:"taint,omitempty"`
		Confirm   string             `json:"confirm,omitempty"`
	}{
		e.Verdict.Action, e.Verdict.Rule, e.Verdict.Reason, e.Verdict.Risk, notNil(e.Verdict.Effects), e.Verdict.Resource, e.Known,
		notNil(e.Commands), e.Doubt, notNil(e.Verdict.Flags), notNil(e.Verdict.Suggested),
		[]limit{},
		[]rule{},
		e.Reads, e.Taint, e.Confirm,
	}
	for _, l := range e.Verdict.Limits {
		shown.Limits = append(shown.Limits, limit{l.Where(), l.PerTurn, l.PerRun, l.PerMinute, l.Then})
	}
	for _, r := range e.Rules {
		shown.Rules = append(shown.Rules, rule(r))
	}
	return shown
}

func notNil[T any](items []T) []T { return append([]T{}, items...) }
