package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// evaluation compares one call with the rules and grants of a policy.
type evaluation struct {
	policy     *Policy
	c          *call.Reading
	granted    []*grantSet         // the grants that count for the caller
	overridden []*rule.Pattern     // the ask patterns that a grant must override to allow the call
	notes      []string            // what was learned while judging, for the reviewer
	vars       map[string]any      // of conditions; nil: not needed yet
	reads      map[*rule.Rule]bool // see concernsReads
	whole      bool                // rules that allow also cover scripts of more than a list of commands
	translated bool                // see asShell
}

func (p *Policy) evaluate(c Call) *evaluation {
	return &evaluation{policy: p, c: call.Read(c, &p.rules.Known, parseRules{p}), granted: p.grants.of(c.Principal, c.Session)}
}

// again returns the evaluation of another call in place of this one, within the same bound.
func (e *evaluation) again(c Call) *evaluation {
	return &evaluation{policy: e.policy, c: e.c.Again(c, parseRules{e.policy}), granted: e.granted}
}

// asShell returns the basis on which rules allow a script of PowerShell by the commands of a shell that do the same. Grants
// are for calls as they are.
func (e *evaluation) asShell() (rule.Basis, bool) {
	c, ok := e.c.AsShell()
	if !ok || e.translated {
		return rule.Basis{}, false
	}
	other := &evaluation{policy: e.policy, c: e.c.Again(c, parseRules{e.policy}).As(e.c.Call.Tool), translated: true}
	v := newQuestion(other).judge()
	return rule.Basis{Action: Allow, Rule: v.Rule, Reason: v.Reason}, v.Action == Allow && !v.ByDefault && other.c.Steps() >= 0
}

// match compares a deny or ask pattern and the condition of its rule with the call.
func (e *evaluation) match(p *rule.Pattern) match.Result {
	found := e.meets(p, p.Compare(e.c))
	if found == match.Yes || !p.HasReads(e.c) || !e.concernsReads(p.Rule) {
		return found
	}
	return max(found, p.CompareReads(e.c))
}

// concernsReads reports whether the condition of a rule for paths may be true of a command that only reads one. The
// risk of reading is low, as that of the tools that read files.
func (e *evaluation) concernsReads(r *rule.Rule) bool {
	if r.When == nil {
		return true
	}
	concerns, known := e.reads[r]
	if !known {
		variables := maps.Clone(e.variables())
		variables["risk"] = string(approvals.RiskLow)
		held, err := r.When.Holds(variables)
		if concerns = held || err != nil; e.reads == nil {
			e.reads = map[*rule.Rule]bool{}
		}
		e.reads[r] = concerns
	}
	return concerns
}

// findDeny finds the deny rule or grant that matches. Rules are before grants.
func (e *evaluation) findDeny() finding {
	found := e.findDenyIn(e.policy.rules.Deny)
	for _, set := range e.granted {
		if one := e.findDenyIn(set.deny); one.match > found.match {
			found = one
		}
	}
	return found
}

// finding is the deny pattern that matches, or the first that might.
type finding struct {
	match   match.Result
	pattern *rule.Pattern
}

func (e *evaluation) findDenyIn(x *rule.Index) finding {
	found := finding{}
	for p := range x.Candidates(e.c.Call.Tool, e.c.Kind, e.c.Keys.Texts, e.c.Keys.Any) {
		if m := e.match(p); m > found.match || (m == found.match && m != match.No && p.Rank < found.pattern.Rank) {
			found = finding{m, p}
		}
	}
	return found
}

// findAsks finds the ask patterns that match, in falling strictness.
func (e *evaluation) findAsks(x *rule.Index) []*rule.Pattern {
	var found []*rule.Pattern
	for p := range x.Candidates(e.c.Call.Tool, e.c.Kind, e.c.Keys.Texts, e.c.Keys.Any) {
		if e.match(p) != match.No && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *rule.Pattern) int { return a.Rank - b.Rank })
	return found
}

// findAllow finds the allow rules and grants that cover every resource of a call, and every command
// of scripts. No rule covers a call in doubt, or of a tool that is not offered.
func (e *evaluation) findAllow(lists ...*rule.Index) (rule.Basis, bool) {
	return e.findCovering(false, lists...)
}

// findCovering is findAllow. whole: scripts may have branches, loops and variables.
func (e *evaluation) findCovering(whole bool, lists ...*rule.Index) (rule.Basis, bool) {
	if len(e.c.Doubts) > 0 || e.c.Call.Unoffered != "" {
		return rule.Basis{}, false
	}
	if p := e.first(lists, nil, func(p *rule.Pattern) bool { return p.Any && e.allows(p) }); p != nil {
		return p.Basis(Allow), true
	}
	if e.c.Ambiguity != "" || e.c.Partial != "" || e.c.Filter != "" || len(e.c.Resources()) == 0 {
		return rule.Basis{}, false
	}
	var used []*rule.Pattern
	for i := range e.c.Resources() {
		if !e.allowedCandidate(whole, lists, &e.c.Candidates[i], &used) {
			return rule.Basis{}, false
		}
	}
	return together(used)
}

// allowedCandidate finds the allow patterns that cover a resource.
func (e *evaluation) allowedCandidate(whole bool, lists []*rule.Index, r *call.Candidate, used *[]*rule.Pattern) bool {
	if e.c.Kind == call.Shell {
		commands, ok := r.Script.ToCover(whole)
		return ok && !slices.ContainsFunc(commands, func(c *shell.Command) bool { return !e.allowedCommand(lists, c, used) })
	}
	return use(used, e.first(lists, e.c.Keys.Texts, func(p *rule.Pattern) bool { return p.Covers(e.c, r) && e.allows(p) }))
}

// allowedCommand finds the allow pattern for a command, or those for the commands that together do
// the same.
func (e *evaluation) allowedCommand(lists []*rule.Index, c *shell.Command, used *[]*rule.Pattern) bool {
	var room [16]string
	keys := append(c.AppendAllowKeys(room[:0]), e.c.Keys.Texts...)
	if p := e.first(lists, keys, func(p *rule.Pattern) bool {
		return p.CoversCommand(e.c, c) && e.allows(p)
	}); p != nil {
		return use(used, p)
	}
	same := c.Instead()
	return len(same) > 0 && !slices.ContainsFunc(same, func(one *shell.Command) bool { return !e.allowedCommand(lists, one, used) })
}

// first returns the pattern like that of lowest rank, with one of some keys or none, in the first list that has one.
func (e *evaluation) first(lists []*rule.Index, keys []string, like func(*rule.Pattern) bool) *rule.Pattern {
	for _, x := range lists {
		if found := x.First(e.c.Call.Tool, e.c.Kind, keys, like); found != nil {
			return found
		}
	}
	return nil
}

// allowing returns the lists of allow patterns for the call: of the rules, then of the grants.
func (e *evaluation) allowing(rules *rule.Index) []*rule.Index {
	lists := make([]*rule.Index, 1, 1+len(e.granted))
	lists[0] = rules
	for _, set := range e.granted {
		lists = append(lists, set.allow)
	}
	return lists
}

// findGrants finds the grants that cover a call if all matching ask rules permit grants.
func (e *evaluation) findGrants(asks []*rule.Pattern) (rule.Basis, bool) {
	if len(e.granted) == 0 || slices.ContainsFunc(asks, func(p *rule.Pattern) bool { return !p.Rule.GrantOverrides }) {
		return rule.Basis{}, false
	}
	scopes := rule.StrictestSettings(asks, false).Scopes
	var lists []*rule.Index
	for _, set := range e.granted {
		if len(scopes) == 0 || slices.Contains(scopes, set.scope) {
			lists = append(lists, set.allow)
		}
	}
	e.overridden = asks
	by, ok := e.findAllow(lists...)
	e.overridden = nil
	return by, ok
}

func use(used *[]*rule.Pattern, p *rule.Pattern) bool {
	if p != nil && !slices.Contains(*used, p) {
		*used = append(*used, p)
	}
	return p != nil
}

// together returns the basis of a verdict on a call that several allow patterns cover in parts.
func together(used []*rule.Pattern) (rule.Basis, bool) {
	if len(used) == 0 {
		return rule.Basis{}, false
	}
	by := used[0].Basis(Allow)
	by.SpelledOut = !slices.ContainsFunc(used, func(p *rule.Pattern) bool { return !p.SpelledOut() })
	for _, p := range used[1:] {
		if !slices.Contains(strings.Split(by.Rule, ", "), p.Where) {
			by.Rule += ", " + p.Where
		}
		by.Reason = "Rules allow every part of the call."
		if p.Rule.Grant != nil {
			by.Grants = append(by.Grants, p.Rule.Grant.ID)
		}
		if len(by.Grants) > 0 {
			by.Reason = "Rules and grants allow every part of the call."
		}
		by.Risk = rule.Strictest(by.Risk, p.Rule.Risk)
	}
	return by, true
}

// variables returns the variables of conditions. Unknown values are absent, so that conditions that
// read them fail.
func (e *evaluation) variables() map[string]any {
	if e.vars != nil {
		return e.vars
	}
	e.vars = map[string]any{
		"tool": e.c.Call.Tool, "args": e.c.Args(), "resource": e.c.Text, "commands": e.c.CommandTexts(),
		"principal": e.c.Call.Principal, "session": e.c.Call.Session, "run": e.c.Call.Run, "run.tainted": e.c.Call.Tainted, "model": e.c.Call.Model,
		"dialect": e.c.Call.Dialect, "subagent": e.c.Call.Subagent, "risk": string(e.c.Tool.RiskOr("")),
	}
	if !e.c.Call.Now.IsZero() {
		e.vars["now"] = e.c.Call.Now
	}
	return e.vars
}

// meets applies the condition of a pattern's rule to its match. A condition that fails is true.
func (e *evaluation) meets(p *rule.Pattern, found match.Result) match.Result {
	when, grant := p.Rule.When, p.Rule.Grant
	switch {
	case grant != nil && !grant.Holds(e.c.Call.Now):
		return match.No
	case found == match.No || when == nil:
		return found
	}
	if len(e.c.Doubts) > 0 {
		return match.Maybe
	}
	held, err := when.Holds(e.variables())
	if err != nil {
		e.failed(p, err)
		return found
	}
	if !held {
		return match.No
	}
	return found
}

// allows reports whether an allow pattern's rule or grant applies. A grant must override the
// matching ask rules and name the program.
func (e *evaluation) allows(p *rule.Pattern) bool {
	if grant := p.Rule.Grant; grant != nil {
		return grant.Holds(e.c.Call.Now) && grant.OverridesAll(e.overridden) && (e.c.Kind != call.Shell || p.CheckProgram() == nil)
	}
	if (p.Any || p.Rule.MatchesArguments) && (len(p.Rule.Does) > 0 || (p.Rule.Within && !e.c.Places.Within())) {
		return false
	}
	if p.Rule.When == nil {
		return true
	}
	held, err := p.Rule.When.Holds(e.variables())
	return err == nil && held
}

func (e *evaluation) failed(p *rule.Pattern, err error) {
	text := fmt.Sprintf("The condition of the rule at %s cannot be evaluated, which counts as true: %s.",
		p.Where, match.Visible(strings.TrimSuffix(err.Error(), ".")))
	if !slices.Contains(e.notes, text) {
		e.notes = append(e.notes, text)
	}
}

// partly reports whether an allow pattern covers a part of the call.
func (e *evaluation) partly(p *rule.Pattern) bool {
	if !p.IsFor(e.c.Call.Tool, e.c.Kind) || !e.allows(p) {
		return false
	}
	for i := range e.c.Resources() {
		r := &e.c.Candidates[i]
		if e.c.Kind != call.Shell || p.Rule.MatchesArguments {
			if p.Covers(e.c, r) {
				return true
			}
			continue
		}
		if slices.ContainsFunc(r.Script.All, func(c *shell.Command) bool { return coversOne(e.c, p, c) }) {
			return true
		}
	}
	return p.Any
}

// coversOne reports whether an allow pattern covers a command, or one of those that together do the
// same.
func coversOne(c *call.Reading, p *rule.Pattern, command *shell.Command) bool {
	return p.CoversCommand(c, command) || slices.ContainsFunc(command.Instead(), func(one *shell.Command) bool { return coversOne(c, p, one) })
}
