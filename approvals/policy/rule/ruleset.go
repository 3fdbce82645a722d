// Package rule reads policy files and compares calls with single rules.
//
// [Parse] reads a file, in load.go and load_rules.go, and returns a [Set]: the [Rule] items
// by their [Pattern], in one [Index] for each list. A pattern is compared with a parsed
// call in compare.go. [Condition] and [Message] are the expressions and templates of rules, a
// [Detector] finds what rules about results are about.
// Which of several rules decides is the subject of package policy.
package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Set is a parsed policy: its rules and the known tools. It is immutable and safe for concurrent
// use.
type Set struct {
	Extends   Extension
	language  int         // of the patterns: 1, 2, or 0 where the policy does not say
	fallback  call.Action // where nothing else decides
	Ambiguous Basis       // of calls with more than one reading
	Known     call.Known
	Deny      *Index
	Ask       *Index
	Allow     *Index
	Rewrite   *Index
	Limited   Limited
	Hosted    hosted
	Results   Results
	Questions Questions
	Secrets   map[string]*Index // of the calls that get the value of a secret, by its name
}

// EmptySet returns the rules where there is no file: people are asked about everything.
func EmptySet() *Set {
	return &Set{
		fallback: call.Ask, Deny: NewIndex(nil), Ask: NewIndex(nil), Allow: NewIndex(nil), Rewrite: NewIndex(nil),
		Known:  call.Known{Profiles: call.KnownProfiles().Without(), Programs: shell.KnownPrograms()},
		Hosted: hosted{rule: "default"},
	}
}

// Compares reports whether a deny or ask rule is for a tool with a resource of a kind.
func (p *Set) Compares(tool string, k call.Kind) bool {
	return p.Deny.AnyFor(tool, k) || p.Ask.AnyFor(tool, k)
}

// Work returns the set with the workspace of an agent.
func (p *Set) Work(w *workspace.Workspace) *Set {
	one := *p
	one.Known.Workspace = w
	return &one
}

// KindsFor are the kinds of the resources of the tools that a pattern may mean.
func (p *Set) KindsFor(of *Pattern) []call.Kind {
	if of.class != nil {
		return []call.Kind{*of.class}
	}
	var found []call.Kind
	names := of.Tool
	if names.Literal() {
		if t := p.Known.Tool(names.Prefix()); t != nil {
			found = append(found, t.Kind)
		}
		return found
	}
	for _, t := range p.Known.Tools {
		if names.Meets(t.Names) && !slices.Contains(found, t.Kind) {
			found = append(found, t.Kind)
		}
	}
	return found
}

// ByDefault returns the basis for calls that no rule matches. The risk of a built-in profile
// decides only if the policy has neither a default nor an entry or allow rule for the tool.
func (p *Set) ByDefault(name string, k call.Kind, t *call.Tool) Basis {
	by := Basis{Action: p.fallback, Rule: "default", Reason: "No rule matches this call; the policy's default is to " + string(p.fallback) + "."}
	switch {
	case t == nil:
	case t.Fallback != "":
		by = Basis{Action: t.Fallback, Rule: t.Where, Reason: t.Reason()}
	case t.Risk == "", t.Builtin && (!p.Known.Profiles.Risks || t.Own || p.Allow.AnyFor(name, k)):
	default:
		by = Basis{Action: call.Ask, Rule: t.Where, Reason: t.RiskReason(), Builtin: t.Builtin, Rated: true}
		if t.Risk == approvals.RiskLow {
			by.Action = call.Allow
		}
	}
	return by
}

// Groups returns the groups that rules name, each with the place of one such rule.
func (p *Set) Groups() map[string]string {
	groups := map[string]string{}
	all := slices.Clone(p.Results.Ask)
	for _, list := range []*Index{p.Ask, p.Limited.Ask, p.Limited.Allow} {
		if list != nil {
			all = append(all, list.All...)
		}
	}
	for _, pattern := range all {
		for _, group := range slices.Concat(pattern.Rule.Reviewers, pattern.Rule.Escalate.To) {
			if groups[group] == "" {
				groups[group] = pattern.Where
			}
		}
	}
	return groups
}

// Warnings returns a sentence for each allow pattern, also of a secret, that is only the name of a tool with a known
// resource.
func (p *Set) Warnings() []string {
	patterns := slices.Clone(p.Allow.All)
	slices.SortFunc(patterns, func(a, b *Pattern) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text)) })
	var found []string
	for _, one := range patterns {
		names := p.withResource(one)
		if !one.Any || len(names) == 0 || p.onlyQuestions(one) {
			continue
		}
		found = append(found, fmt.Sprintf("%s: %s allows any arguments of %s, also files that may hold secrets: write %s(...) to allow some.",
			one.Where, one.Text, someOf(names), names[0]))
	}
	return slices.Concat(found, p.denyByTool(), p.everything(patterns), p.wideSecrets(), p.untainted(), p.withoutWorkspace(), p.questionWarnings())
}

// Widened returns the allow patterns that cover more than in language 1, each with its place and what it covers now, if
// the policy does not say in which language it is written.
func (p *Set) Widened() (patterns []string) {
	if p.language != 0 {
		return nil
	}
	for _, pattern := range p.Allow.All {
		if covers := pattern.widened(&p.Known); covers != "" {
			patterns = append(patterns, fmt.Sprintf("%s: %s covers %s", pattern.Where, pattern.Text, covers))
		}
	}
	slices.Sort(patterns)
	return patterns
}

// everything warns of patterns that cover whatever a program or a tool does.
func (p *Set) everything(patterns []*Pattern) (warnings []string) {
	for _, one := range patterns {
		switch text := one.everything(p.KindsFor(one)); {
		case one.Rule.Does != nil || one.Rule.Within || text == "":
		default:
			warnings = append(warnings, fmt.Sprintf("%s: %s allows %s: write what is needed in place of **.", one.Where, one.Text, text))
		}
	}
	return warnings
}

// denyByTool warns of a deny pattern for a tool that reads files, where no pattern denies the same paths to commands.
func (p *Set) denyByTool() []string {
	var found, warned []string
	for _, pattern := range p.Deny.All {
		_, argument, _ := strings.Cut(pattern.Text, "(")
		named := p.Known.Tool(pattern.Tool.Text())
		reads := pattern.Tool.Literal() && pattern.class == nil && !pattern.Any && named != nil && named.Kind == call.Path && named.RiskOr("") == approvals.RiskLow
		if !reads || slices.Contains(warned, argument) || slices.ContainsFunc(p.Deny.All, func(other *Pattern) bool { return other.Text == "path("+argument }) {
			continue
		}
		warned = append(warned, argument)
		found = append(found, fmt.Sprintf("%s: %s denies one tool, and commands can read the same files: write path(%s for every tool and command.", pattern.Where, pattern.Text, argument))
	}
	return found
}

// withoutWorkspace warns of a rule for the workspace where the policy names none.
func (p *Set) withoutWorkspace() []string {
	for _, one := range p.Allow.All {
		if one.Rule.Within && !p.Known.Workspace.HasFolders() {
			return []string{fmt.Sprintf("%s: within: workspace allows nothing, but for clients whose configuration names a workspace: write workspace: [FOLDER].", one.Where)}
		}
	}
	return nil
}

// untainted warns of a condition on tainted runs where nothing taints one.
func (p *Set) untainted() []string {
	if len(p.Results.Taint) > 0 {
		return nil
	}
	for _, list := range []*Index{p.Deny, p.Ask, p.Allow, p.Rewrite} {
		if list == nil {
			continue
		}
		for _, one := range list.All {
			if one.Rule.When != nil && strings.Contains(one.Rule.When.source, "run.tainted") {
				return []string{fmt.Sprintf("%s: run.tainted is never true: the policy has no taint list.", one.Where)}
			}
		}
	}
	return nil
}

// withResource returns the names of the tools of a pattern with a known resource, sorted.
func (p *Set) withResource(of *Pattern) []string {
	var names []string
	for _, t := range slices.Concat(p.Known.Tools, p.Known.Profiles.All()) {
		if t.Typed && len(t.Fields) > 0 && t.Names.Meets(of.Tool) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// someOf names up to three things.
func someOf(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
