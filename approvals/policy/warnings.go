package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Warnings returns, one sentence each with its place, what of a valid policy may
// not be meant: an allow pattern that is the name alone of a tool whose resource is
// known. It covers calls with any arguments, also what may hold secrets.
func (p *Policy) Warnings() []string {
	patterns := slices.Clone(p.allow.all)
	slices.SortFunc(patterns, func(a, b *pattern) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.text, b.text)) })
	var found []string
	for _, one := range patterns {
		names := p.withResource(one)
		if !one.any || len(names) == 0 {
			continue
		}
		found = append(found, fmt.Sprintf("%s: %s allows any arguments of %s, also files that may hold secrets: write %s(...) to allow some.",
			one.where, one.text, someOf(names), names[0]))
	}
	return found
}

// withResource are the names of the tools that a pattern is for and whose resource
// is known, sorted.
func (p *Policy) withResource(of *pattern) []string {
	var names []string
	for _, t := range slices.Concat(p.tools, p.profiles.all()) {
		if t.typed && len(t.fields) > 0 && t.names.Meets(of.tool) {
			names = append(names, t.name)
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
