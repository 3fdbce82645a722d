package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// PatternCheck is what an allow pattern of a policy covers. Its calls were judged by the policy.
type PatternCheck struct {
	Where   string
	Pattern string
	Alike   int      // how many patterns of the same rule cover the same of other tools or commands, and are left out
	Covers  string   // in words
	Passes  []string // up to two calls that are allowed
	Stays   []string // up to two calls that the pattern does not cover and nothing else allows
	Nothing string   // why the pattern covers nothing, and what to write; or ""
}

// CheckPatterns describes the allow patterns of the file, in its order, without those of what it extends.
func (p *Policy) CheckPatterns() []PatternCheck {
	patterns := slices.DeleteFunc(slices.Clone(p.rules.Allow.All), func(one *rule.Pattern) bool { return one.Extended })
	slices.SortStableFunc(patterns, func(a, b *rule.Pattern) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column, len(a.Text)-len(b.Text)) })
	in := p
	if w := p.Workspace(); w != nil {
		in = p.In(w.Of(workspace.Agent{Folder: w.First()}))
	}
	var checks []PatternCheck
	var last *rule.Rule
	for _, one := range patterns {
		c := in.checkPattern(one)
		if n := len(checks) - 1; n >= 0 && last == one.Rule && c.Nothing == "" && checks[n].Nothing == "" && alike(&checks[n], &c) {
			checks[n].Alike++
			continue
		}
		checks, last = append(checks, c), one.Rule
	}
	return checks
}

// alike reports whether two patterns have the same argument, or each is one command.
func alike(a, b *PatternCheck) bool {
	_, first, _ := strings.Cut(a.Pattern, "(")
	_, second, _ := strings.Cut(b.Pattern, "(")
	return a.Covers == b.Covers && (first == second || !strings.Contains(a.Pattern+b.Pattern, "*"))
}

func (p *Policy) checkPattern(of *rule.Pattern) PatternCheck {
	tool := p.rules.Tool(of)
	known := p.rules.Known.Tool(tool)
	kind := call.Plain
	if known != nil {
		kind = known.Kind
	}
	d := of.Describe(&p.rules.Known, kind)
	c := PatternCheck{Where: of.Where, Pattern: of.Text, Covers: d.Covers, Nothing: d.Nothing}
	if conditions := of.Conditions(); conditions != "" {
		c.Covers += "; " + conditions
	}
	judges, before := p, ""
	if d.Redirect { // of a command that is allowed
		if with, err := p.Allowing(tool + "(true)"); err == nil {
			judges, before = with, "true "
		}
	}
	for _, text := range d.Likely {
		if e := judges.evaluate(sampleCall(tool, known, before+text)); len(c.Passes) < 2 && !slices.Contains(c.Passes, text) && e.passes(of) {
			c.Passes = append(c.Passes, text)
		}
	}
	for _, text := range d.Unlikely {
		if e := judges.evaluate(sampleCall(tool, known, before+text)); len(c.Stays) < 2 && !e.covers(of) && e.judge().Action != Allow {
			c.Stays = append(c.Stays, text)
		}
	}
	c.addDestroying(p, of, tool, known, d.Destroying)
	return c
}

// maxDestroying is how many destroying commands are named of one pattern.
const maxDestroying = 4

// addDestroying names the commands that a pattern covers and that destroy.
func (c *PatternCheck) addDestroying(p *Policy, of *rule.Pattern, tool string, known *call.Tool, commands []string) {
	var covered []string
	for _, text := range commands {
		if e := p.evaluate(sampleCall(tool, known, text+" x")); e.passes(of) {
			covered = append(covered, text)
		}
	}
	if more := len(covered) - maxDestroying; more > 0 {
		covered = append(covered[:maxDestroying], "others")
	}
	if len(covered) > 0 {
		c.Covers += "; also " + strings.Join(covered, ", ")
	}
}

// sampleCall is a call of a tool with a resource.
func sampleCall(tool string, known *call.Tool, text string) Call {
	c := Call{Tool: tool, Offered: true}
	if known == nil || !known.Typed || len(known.Fields) == 0 {
		c.Arguments, c.FreeText = text, len(match.CheckArguments(text)) > 0
		return c
	}
	var value any = text
	for _, field := range slices.Backward(known.Fields[0]) {
		value = map[string]any{field: value}
	}
	arguments, err := json.Marshal(value)
	if err != nil {
		return c // the text is no valid UTF-8, so nothing covers it
	}
	c.Arguments = string(arguments)
	return c
}

// covers reports whether an allow pattern alone covers the whole call, whatever the condition of its rule.
func (e *evaluation) covers(p *rule.Pattern) bool {
	if len(e.c.Doubts) > 0 || e.c.Ambiguity != "" || e.c.Partial != "" || e.c.Filter != "" || !p.IsFor(e.c.Call.Tool, e.c.Kind) {
		return false
	}
	for i := range e.c.Resources() {
		r := &e.c.Candidates[i]
		if e.c.Kind != call.Shell || p.Rule.MatchesArguments {
			if !p.Covers(e.c, r) {
				return false
			}
			continue
		}
		commands, ok := r.Script.ToCover(true)
		if !ok || slices.ContainsFunc(commands, func(c *shell.Command) bool { return (c.Redirect || !p.IsRedirect()) && !coversOne(e.c, p, c) }) {
			return false
		}
	}
	return len(e.c.Resources()) > 0
}

// passes reports whether an allow pattern covers the call, and the policy allows it or would if the condition of the rule
// held.
func (e *evaluation) passes(p *rule.Pattern) bool {
	return e.covers(p) && (p.Rule.When != nil || e.judge().Action == Allow)
}
