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

// Explanation describes for a terminal how a policy judges a call, and each call that it wraps. It lists the
// patterns that apply, or all of them.
func Explanation(e policy.Explanation, all bool) string {
	page := explanation(e, all)
	for _, one := range e.Wrapped {
		page += fmt.Sprintf("\nIn it     %s\n%s", sanitize.Line(one.Call), explanation(one, all))
	}
	return page
}

func explanation(e policy.Explanation, all bool) string {
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
	line("Nearest", e.Nearest)
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
	left := 0
	for _, r := range e.Rules {
		mark := " "
		switch {
		case r.Applies:
			mark = "*"
		case !all:
			left++
			continue
		}
		fmt.Fprintf(&page, "%s %s: %s %s: %s\n", mark, sanitize.Line(r.Where), r.List, sanitize.Line(r.Pattern), sanitize.Line(r.Says))
	}
	if left > 0 {
		fmt.Fprintf(&page, "  patterns that do not apply: %d; --rules lists them\n", left)
	}
	return page.String()
}

// explanationJSON is the JSON of an explanation.
type explanationJSON struct {
	Action    policy.Action      `json:"action"`
	Rule      string             `json:"rule"`
	Reason    string             `json:"reason"`
	Risk      approvals.Risk     `json:"risk"`
	Effects   []approvals.Effect `json:"effects"`
	Resource  string             `json:"resource"`
	Tool      string             `json:"tool"`
	Commands  []string           `json:"commands"`
	Doubt     string             `json:"doubt"`
	Nearest   string             `json:"nearest,omitempty"`
	Flags     []string           `json:"flags"`
	Suggested []string           `json:"suggested_patterns"`
	Limits    []limitJSON        `json:"limits"`
	Rules     []ruleJSON         `json:"rules"`
	Reads     string             `json:"reads,omitempty"`
	Taint     string             `json:"taint,omitempty"`
	Confirm   string             `json:"confirm,omitempty"`
	Wrapped   []wrappedJSON      `json:"wrapped,omitempty"`
}

type ruleJSON struct {
	Where   string        `json:"where"`
	List    policy.Action `json:"list"`
	Pattern string        `json:"pattern"`
	Applies bool          `json:"applies"`
	Says    string        `json:"says"`
}

type limitJSON struct {
	Where     string        `json:"where"`
	PerTurn   int           `json:"per_turn,omitempty"`
	PerRun    int           `json:"per_run,omitempty"`
	PerMinute int           `json:"per_minute,omitempty"`
	Then      policy.Action `json:"then"`
}

// wrappedJSON is a call in the one that is explained.
type wrappedJSON struct {
	Call string `json:"call"`
	explanationJSON
}

// ExplanationJSON returns an explanation in the form that its JSON has.
func ExplanationJSON(e policy.Explanation) any {
	shown := toJSON(e)
	for _, one := range e.Wrapped {
		shown.Wrapped = append(shown.Wrapped, wrappedJSON{one.Call, toJSON(one)})
	}
	return shown
}

func toJSON(e policy.Explanation) explanationJSON {
	shown := explanationJSON{
		Action: e.Verdict.Action, Rule: e.Verdict.Rule, Reason: e.Verdict.Reason, Risk: e.Verdict.Risk, Effects: notNil(e.Verdict.Effects),
		Resource: e.Verdict.Resource, Tool: e.Known, Commands: notNil(e.Commands), Doubt: e.Doubt, Nearest: e.Nearest, Flags: notNil(e.Verdict.Flags),
		Suggested: notNil(e.Verdict.Suggested), Limits: []limitJSON{}, Rules: []ruleJSON{}, Reads: e.Reads, Taint: e.Taint, Confirm: e.Confirm,
	}
	for _, l := range e.Verdict.Limits {
		shown.Limits = append(shown.Limits, limitJSON{l.Where(), l.PerTurn, l.PerRun, l.PerMinute, l.Then})
	}
	for _, r := range e.Rules {
		shown.Rules = append(shown.Rules, ruleJSON(r))
	}
	return shown
}

func notNil[T any](items []T) []T { return append([]T{}, items...) }
