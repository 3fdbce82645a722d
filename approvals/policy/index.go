package policy

import (
	"iter"
	"slices"
	"sync"
)

// index finds the patterns of one list that may match a call without looking at
// the others. It is never changed once it is built.
type index struct {
	all   []*pattern
	named map[string]*shelf // by tool
	globs *shelf            // those whose tool is a glob or a class
}

// shelf is patterns for the same tools, by the keys of what they match.
type shelf struct {
	all    []*pattern
	keysOf func(*pattern, kind) []string
	kinds  [kinds]struct {
		once  sync.Once
		keyed map[string][]*pattern
		rest  []*pattern // may match whatever the key
	}
}

// newIndex takes patterns in the order in which they decide.
func newIndex(patterns []*pattern) *index { return newIndexBy((*pattern).keys, patterns) }

// newAllowIndex is newIndex for patterns that allow.
func newAllowIndex(patterns []*pattern) *index { return newIndexBy((*pattern).allowKeys, patterns) }

func newIndexBy(keysOf func(*pattern, kind) []string, patterns []*pattern) *index {
	x := &index{all: patterns, named: map[string]*shelf{}, globs: &shelf{keysOf: keysOf}}
	for i, p := range patterns {
		p.rank = i
		on := x.globs
		if p.tool.Literal() && !p.shells {
			if on = x.named[p.tool.Prefix()]; on == nil {
				on = &shelf{keysOf: keysOf}
				x.named[p.tool.Prefix()] = on
			}
		}
		on.all = append(on.all, p)
	}
	return x
}

// anyFor reports whether any of the patterns is for a tool whose resource is of a
// kind.
func (x *index) anyFor(tool string, k kind) bool {
	return x != nil && (x.named[tool] != nil || slices.ContainsFunc(x.globs.all, func(p *pattern) bool { return p.isFor(tool, k) }))
}

// candidates are the patterns that may match a resource of a kind with some
// keys, in no order and some twice; all of the tool's if every key is possible.
func (x *index) candidates(tool string, k kind, keys []string, every bool) iter.Seq[*pattern] {
	return func(yield func(*pattern) bool) {
		if x == nil {
			return
		}
		if on := x.named[tool]; on != nil && !on.visit(k, keys, every, yield) {
			return
		}
		x.globs.visit(k, keys, every, func(p *pattern) bool { return !p.isFor(tool, k) || yield(p) })
	}
}

func (s *shelf) visit(k kind, keys []string, every bool, yield func(*pattern) bool) bool {
	few := len(s.all) <= 4
	if every || few {
		return visit(s.all, yield)
	}
	of := &s.kinds[k]
	of.once.Do(func() {
		of.keyed = map[string][]*pattern{}
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

func visit(patterns []*pattern, yield func(*pattern) bool) bool {
	for _, p := range patterns {
		if !yield(p) {
			return false
		}
	}
	return true
}
