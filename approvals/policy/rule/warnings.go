package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Warnings returns, one sentence each with its place, what of a valid policy may
// not be meant: an allow pattern that is the name alone of a tool whose resource is
// known. It covers calls with any arguments, also what may hold secrets.
func (p *Set) Warnings() []string {
	patterns := slices.Clone(p.Allow.All)
	slices.SortFunc(patterns, func(a, b *Pattern) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text)) })
	var found []string
	for _, one := range patterns {
		names := p.withResource(one)
		if !one.Any || len(names) == 0 {
			continue
		}
		found = append(found, fmt.Sprintf("%s: %s allows any arguments of %s, also files that may hold secrets: write %s(...) to allow some.",
			one.Where, one.Text, someOf(names), names[0]))
	}
	return found
}

// withResource are the names of the tools that a pattern is for and whose resource
// is known, sorted.
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
