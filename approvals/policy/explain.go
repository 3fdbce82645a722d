package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Explanation is how a policy comes to its verdict on a call, or on the result of one.
type Explanation struct {
	Verdict  Verdict
	Known    string   // a sentence about the tool
	Commands []string // of a shell command: those found, as in [Verdict]
	Doubt    string   // why no allow pattern with an argument covers the call, or ""
	Nearest  string   // where no pattern covers a command: the allow pattern that goes furthest in it, and the word at which it ends; or ""
	Rules    []RuleExplanation
	Confirm  string        // what a reviewer types to approve the call, "": nothing
	Reads    string        // the result of a call as the model or a reviewer reads it, "" for a call
	Taint    string        // the pattern by which the result taints its run, "" for none
	Wrapped  []Explanation // of the calls in it; the verdict is that on all of them
	Call     string        // of a call in another one: its tool and arguments
}

// RuleExplanation is the result of one pattern of the policy for a call.
type RuleExplanation struct {
	Where   string // file and line
	List    Action // the list that the pattern is in: [Deny], [Ask], [Allow], "rewrite", or of results also [Redact] and "taint"
	Pattern string
	Applies bool   // it matches, might match, or covers a part of the call
	Says    string // that, or why not
}

// Explain judges a call and explains the verdict. Its handles are taken for those of stored
// secrets. The rules are in the order of the file.
func (p *Policy) Explain(c Call) Explanation {
	if why := p.asks(c.Tool); why != "" {
		return p.explainQuestion(c, why)
	}
	c.Secrets = SecretNames(c.Arguments, c.FreeText)
	verdict, evaluation := p.judged(c)
	x := &explainer{e: evaluation, c: evaluation.c}
	for _, name := range evaluation.otherNames() {
		x.others = append(x.others, evaluation.as(name))
	}
	if verdict.Action != Ask {
		verdict.Effects, verdict.Risk = evaluation.effects()
	}
	e := Explanation{Verdict: verdict, Known: x.known(), Commands: x.c.ShownCommands(), Doubt: x.doubt()}
	e.Confirm, e.Nearest = e.Verdict.Confirmation(c.Tool), x.nearest()
	type listed struct {
		*rule.Pattern
		in Action
	}
	var all []listed
	rules := p.rules
	for in, list := range map[Action]*rule.Index{Deny: rules.Deny, Ask: rules.Ask, Allow: rules.Allow, "rewrite": rules.Rewrite} {
		for _, one := range list.All {
			all = append(all, listed{one, in})
		}
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.in, b.in), cmp.Compare(a.Text, b.Text))
	})
	for _, one := range all {
		r := RuleExplanation{Where: one.Where, List: one.in, Pattern: one.Text}
		if one.in == Allow || one.in == "rewrite" {
			r.Applies, r.Says = x.explainAllow(one.Pattern)
		} else {
			r.Applies, r.Says = x.explainMatch(one.Pattern)
		}
		e.Rules = append(e.Rules, r)
	}
	return e
}

type explainer struct {
	e *evaluation
	c *call.Reading // of e

	others []*evaluation // of the call under the names for which agents may take that of its tool
}

func (x *explainer) known() string {
	switch {
	case x.c.Tool == nil:
		return "The tool is unknown: its arguments are compared as a whole."
	case !x.c.Tool.Typed:
		return fmt.Sprintf("Its arguments are compared as a whole (%s).", x.c.Tool.Where)
	}
	what := call.KindNames[x.c.Kind]
	if x.c.Tool.Patch {
		what = "patch"
	}
	return fmt.Sprintf("Its %s is judged as %s (%s).", x.c.Tool.FieldNames(), what, x.c.Tool.Where)
}

// doubt is why no allow pattern with an argument covers the call, or "".
func (x *explainer) doubt() string {
	if len(x.c.Doubts) > 0 {
		return x.c.Doubts[0]
	}
	filtered := ""
	if x.c.Filter != "" {
		filtered = x.c.SecretReason()
	}
	return cmp.Or(x.c.Ambiguity, x.c.Partial, filtered, x.c.NotSimple())
}

func (x *explainer) explainMatch(p *rule.Pattern) (applies bool, says string) {
	if !p.IsFor(x.c.Call.Tool, x.c.Kind) {
		return x.explainOthers(p)
	}
	compared := max(p.Compare(x.c), p.CompareReads(x.c))
	switch x.e.match(p) {
	case match.Yes:
		return true, "matches"
	case match.Maybe:
		return true, "may match: " + x.e.inDoubt(p)
	}
	if compared != match.No {
		return false, "its condition is false"
	}
	return false, "does not match"
}

// explainOthers explains a pattern that is not for the tool: it holds if it is for one that agents may run in its place.
func (x *explainer) explainOthers(p *rule.Pattern) (applies bool, says string) {
	for _, other := range x.others {
		if other.match(p) != match.No {
			return true, fmt.Sprintf("holds, as agents may run %s in place of %s", match.Visible(other.c.Call.Tool), match.Visible(x.c.Call.Tool))
		}
	}
	return false, "is for another tool"
}

func (x *explainer) explainAllow(p *rule.Pattern) (applies bool, says string) {
	switch {
	case !p.IsFor(x.c.Call.Tool, x.c.Kind):
		return false, "is for another tool"
	case len(x.c.Doubts) == 0 && !x.e.allows(p):
		return false, "its condition is false"
	case p.Any && len(x.c.Doubts) == 0:
		return true, "covers every call of the tool"
	case x.doubt() != "":
		return false, "does not cover the call: " + strings.TrimSuffix(x.doubt(), ".")
	case x.c.Kind == call.Shell && !p.Rule.MatchesArguments:
		return x.explainCommands(p)
	}
	for i := range x.c.Resources() {
		if p.Covers(x.c, &x.c.Candidates[i]) {
			return true, "covers " + match.Shorten(x.c.Candidates[i].Text, 60)
		}
	}
	return false, "does not cover it"
}

func (x *explainer) explainCommands(p *rule.Pattern) (applies bool, says string) {
	var covered []string
	for _, script := range x.c.Scripts() {
		for _, c := range script.Commands {
			if p.CoversCommand(x.c, c) {
				covered = append(covered, match.Shorten(c.Display(), 60))
			}
		}
	}
	if len(covered) == 0 {
		says = "covers none of the commands"
		if end, command := x.furthest(p); end > 0 {
			says += ": it " + endOf(command, end)
		}
		return false, says
	}
	return true, "covers " + strings.Join(covered, " and ")
}

// furthest returns the index of the word at which an allow pattern ends in the command that it goes furthest in, of those
// that it does not cover.
func (x *explainer) furthest(p *rule.Pattern) (end int, command *shell.Command) {
	for _, script := range x.c.Scripts() {
		for _, c := range script.All {
			if at := p.Ends(x.c, c); at > end && !x.coversAny(c) {
				end, command = at, c
			}
		}
	}
	return end, command
}

// coversAny reports whether an allow pattern covers a command.
func (x *explainer) coversAny(c *shell.Command) bool {
	lists := x.e.allowing(x.e.policy.rules.Allow)
	return x.e.allowedCommand(lists, c, new([]*rule.Pattern))
}

// nearest returns the allow pattern that goes furthest in a command that none covers, and where it ends, or "".
func (x *explainer) nearest() string {
	if x.c.Kind != call.Shell {
		return ""
	}
	most, nearest := 0, ""
	for _, p := range x.e.policy.rules.Allow.All {
		if !p.IsFor(x.c.Call.Tool, x.c.Kind) || p.Any || p.Rule.MatchesArguments {
			continue
		}
		if end, command := x.furthest(p); end > most {
			most, nearest = end, p.Text+" "+endOf(command, end)
		}
	}
	return nearest
}

// endOf tells at which word of a command a pattern ends.
func endOf(c *shell.Command, end int) string {
	if end >= len(c.Words) {
		return "is for more words than " + match.Quote(match.Shorten(c.Display(), 60))
	}
	return "ends at " + strconv.Quote(match.Shorten(c.Word(end), 60))
}
