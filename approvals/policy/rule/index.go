package rule

import (
	"iter"
	"slices"
	"sync"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Index finds the patterns of one list that may match a call. It is immutable.
type Index struct {
	All   []*Pattern
	named map[string]*toolPatterns // by tool
	globs *toolPatterns            // those whose tool is a glob or a class
	keyed map[string][]string      // the names of tools by their [toolname.Key]
}

// toolPatterns are patterns for the same tools, by key.
type toolPatterns struct {
	all    []*Pattern
	keysOf func(*Pattern, call.Kind) []string
	kinds  [call.Kinds]struct {
		once  sync.Once
		keyed map[string][]*Pattern
		rest  []*Pattern // may match whatever the key
	}
}

// NewIndex returns an index of deny or ask patterns, which are ranked by their order.
func NewIndex(patterns []*Pattern) *Index { return newIndexBy((*Pattern).keys, patterns) }

// NewAllowIndex is newIndex for patterns that allow.
func NewAllowIndex(patterns []*Pattern) *Index { return newIndexBy((*Pattern).allowKeys, patterns) }

func newIndexBy(keysOf func(*Pattern, call.Kind) []string, patterns []*Pattern) *Index {
	x := &Index{All: patterns, named: map[string]*toolPatterns{}, globs: &toolPatterns{keysOf: keysOf}, keyed: map[string][]string{}}
	for i, p := range patterns {
		p.Rank = i
		on := x.globs
		if p.Tool.Literal() && p.class == nil {
			if on = x.named[p.Tool.Prefix()]; on == nil {
				on = &toolPatterns{keysOf: keysOf}
				x.named[p.Tool.Prefix()] = on
				key := toolname.Key(p.Tool.Prefix())
				x.keyed[key] = append(x.keyed[key], p.Tool.Prefix())
			}
		}
		on.all = append(on.all, p)
	}
	return x
}

// OfRule returns an index of the patterns of one rule that allow, with their ranks.
func (x *Index) OfRule(r *Rule) *Index {
	own := slices.DeleteFunc(slices.Clone(x.All), func(p *Pattern) bool { return p.Rule != r })
	return &Index{globs: &toolPatterns{all: own, keysOf: (*Pattern).allowKeys}}
}

// AnyFor reports whether a pattern is for a tool with a resource of a kind.
func (x *Index) AnyFor(tool string, k call.Kind) bool {
	return x != nil && (x.named[tool] != nil || slices.ContainsFunc(x.globs.all, func(p *Pattern) bool { return p.IsFor(tool, k) }))
}

// Candidates returns the patterns that may match a resource of a kind with some keys, in no order
// and with repetitions, or all of the tool's patterns.
func (x *Index) Candidates(tool string, k call.Kind, keys []string, every bool) iter.Seq[*Pattern] {
	return func(yield func(*Pattern) bool) {
		if x == nil {
			return
		}
		if on := x.named[tool]; on != nil && !on.visit(k, keys, every, yield) {
			return
		}
		x.globs.visit(k, keys, every, func(p *Pattern) bool { return !p.IsFor(tool, k) || yield(p) })
	}
}

// Meant returns the names of tools of patterns, for which agents may take a wrong name. Of a pattern with
// stars that is a name that it matches.
func (x *Index) Meant(name *MeantName) (names []string) {
	if x == nil {
		return nil
	}
	for _, key := range name.keys {
		names = append(names, x.keyed[key]...)
	}
	for _, p := range x.globs.all {
		if p.mended == nil {
			continue
		}
		for _, spelling := range name.snakes {
			if found := p.mended.FindStringSubmatch(spelling); found != nil {
				names = append(names, p.Tool.With(found[1:]))
			}
		}
	}
	return names
}

// MeantName is a name of a tool, to be compared as agents mend it.
type MeantName struct {
	keys, snakes []string
}

// NewMeantName returns a name for [Index.Meant]. Agents leave no prefix of a whole name out.
func NewMeantName(name string, whole bool) *MeantName {
	spellings := toolname.Spellings
	if whole {
		spellings = toolname.Whole
	}
	n := &MeantName{}
	for _, spelling := range spellings(name) {
		n.keys, n.snakes = append(n.keys, toolname.Key(spelling)), append(n.snakes, toolname.Snake(spelling))
	}
	return n
}

// Keys are those of the name: see [toolname.Keys].
func (n *MeantName) Keys() []string { return n.keys }

// First returns the pattern of lowest rank that has one of some keys and is like that, or nil.
func (x *Index) First(tool string, k call.Kind, keys []string, like func(*Pattern) bool) *Pattern {
	var found *Pattern
	for p := range x.Candidates(tool, k, keys, false) {
		if (found == nil || p.Rank < found.Rank) && like(p) {
			found = p
		}
	}
	return found
}

func (s *toolPatterns) visit(k call.Kind, keys []string, every bool, yield func(*Pattern) bool) bool {
	few := len(s.all) <= 4
	if every || few {
		return visit(s.all, yield)
	}
	of := &s.kinds[k]
	of.once.Do(func() {
		of.keyed = map[string][]*Pattern{}
		for _, p := range s.all {
			keys := s.keysOf(p, k)
			for _, key := range keys {
				of.keyed[key] = append(of.keyed[key], p)
			}
			if len(keys) == 0 {
				of.rest = append(of.rest, p)
			}
		}
	})
	for _, key := range keys {
		if !visit(of.keyed[key], yield) {
			return false
		}
	}
	return visit(of.rest, yield)
}

func visit(patterns []*Pattern, yield func(*Pattern) bool) bool {
	for _, p := range patterns {
		if !yield(p) {
			return false
		}
	}
	return true
}

// Limited are the patterns of the rules that have a limit.
type Limited struct{ Allow, Ask *Index }

// newLimited finds them among all.
func newLimited(all *lists) Limited {
	of := func(patterns []*Pattern) *Index {
		var found []*Pattern
		for _, p := range patterns {
			if p.Rule.Limit != nil {
				one := *p // has a rank of its own in each index
				found = append(found, &one)
			}
		}
		return NewIndex(found)
	}
	return Limited{of(all.allow), of(all.ask)}
}
