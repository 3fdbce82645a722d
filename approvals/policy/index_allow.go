package policy

import "strings"

// Patterns that allow are told apart by more than those that deny, which must
// see through quoting, folders and letter case: a pattern without a * by all the
// words of its command, one of paths by its first segment. Nor are they all looked
// at where a call may hide what it does: such a call they do not cover.

// allowKey is what a resource of a kind has among its keys if an allow pattern
// covers it. It is false where the pattern may cover any.
func (p *pattern) allowKey(k kind) (string, bool) {
	switch {
	case p.any || p.star || p.rule.wide:
	case k == asShell && p.shell != nil && p.shell.spelledOut && !p.shell.rest && !p.shell.open:
		words := make([]string, len(p.shell.words))
		for i, w := range p.shell.words {
			words[i] = w.prefix()
		}
		return wordsKey(words), true
	case k == asPath && p.path != nil && !p.path.fixed:
		if first := firstSegment(p.path.lower); !strings.ContainsAny(first, `*\`) {
			return rootKey(&p.path.location, first), true
		}
	}
	return p.key(k)
}

// wordsKey is the key of a command of exactly these words. No other key begins
// like it.
func wordsKey(words []string) string { return "\x00" + strings.Join(words, "\x00") }

// rootKey is the key of the paths below a first segment.
func rootKey(l *location, first string) string { return "\x00" + l.anchor + "\x00" + first }

func firstSegment(body string) string {
	first, _, _ := strings.Cut(body, "/")
	return first
}

// addAllowKeys adds what patterns that allow are looked up by.
func (s *subject) addAllowKeys(r *reading) {
	switch s.kind {
	case asPath:
		s.addKey(rootKey(&r.path, firstSegment(foldCase(r.path.body))))
	case asShell:
		for _, c := range r.script.all {
			if len(c.words) == 0 {
				continue
			}
			s.addKey(foldCase(c.words[0]))
			s.addKey(wordsKey(c.words))
		}
	}
}
