package policy

import "strings"

// Patterns that allow are told apart by more than those that deny, which must
// see through quoting, folders and letter case: one of commands by the words in
// front of its first *, one of paths by its first segment. Nor are they all looked
// at where a call may hide what it does: such a call they do not cover.

// allowKeys are those of which a resource of a kind has one among its own if an
// allow pattern covers it. There are none where the pattern may cover any.
func (p *pattern) allowKeys(k kind) []string {
	switch {
	case p.any || p.star || p.rule.wide:
	case k == asShell && p.shell != nil:
		if words := p.shell.fixed(); len(words) > 0 {
			return []string{wordsKey(words[:min(len(words), maxKeyWords)])}
		}
	case k == asPath && p.path != nil && !p.path.fixed:
		if first := firstSegment(p.path.lower); !strings.ContainsAny(first, `*\`) {
			return []string{rootKey(&p.path.location, first)}
		}
	}
	return p.keys(k)
}

// maxKeyWords is how many words of a command it is looked up by.
const maxKeyWords = 8

// fixed are the words of the pattern in front of its first *.
func (p *shellPattern) fixed() []string {
	var words []string
	for _, w := range p.words {
		if !w.literal() {
			break
		}
		words = append(words, w.prefix())
	}
	return words
}

// wordsKey is the key of a command that begins with these words. No other key
// begins like it.
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
		s.addKey(rootKey(&r.path, firstSegment(r.path.lower)))
	case asShell:
		for _, c := range r.script.all {
			if len(c.words) == 0 {
				continue
			}
			s.addKey(foldCase(c.words[0]))
			s.addWordsKeys(c.words[:min(len(c.words), maxKeyWords)])
		}
	}
}

// addWordsKeys adds a key for each number of words that a command begins with, the
// last of them whole and up to each colon.
func (s *subject) addWordsKeys(words []string) {
	key, at := wordsKey(words), 0
	for _, word := range words {
		begin := at + 1
		at = begin + len(word)
		for i := begin; i < at; i++ {
			if key[i] == ':' {
				s.addKey(key[:i])
			}
		}
		s.addKey(key[:at])
	}
}
