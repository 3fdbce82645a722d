package shell

import (
	"strings"
)

// maxKeyWords is how many words of a command it is looked up by.
const maxKeyWords = 8

// fixed are the words of the pattern in front of its first *.
func (p *AllowPattern) fixed() []string {
	var words []string
	for _, w := range p.words {
		if !w.Literal() {
			break
		}
		words = append(words, w.Prefix())
	}
	return words
}

// wordsKey returns the key of commands that begin with these words.
func wordsKey(words []string) string {
	room := [1 + maxKeyWords]string{""} // so that the key begins with the sign, too
	return strings.Join(append(room[:1], words...), "\x00")
}

// Key is the key of the commands that the pattern covers, or "" if any may be.
func (p *AllowPattern) Key() string {
	words := p.fixed()
	if len(words) == 0 {
		return ""
	}
	return wordsKey(words[:min(len(words), maxKeyWords)])
}

// AppendKeys adds the lookup keys for deny and ask patterns. It reports false if any pattern may
// match.
func (s *Script) AppendKeys(keys []string, source string) (_ []string, all bool) {
	keys, all = appendFirst(keys, source), s.Problem == ""
	for _, text := range s.lower {
		keys = appendFirst(keys, text)
	}
	keys, all = appendMentioned(keys, s.mentions, all)
	for _, c := range s.All {
		keys, all = appendMentioned(keys, c.mentions, all && !c.mayRunAnything())
	}
	return keys, all
}

// appendMentioned adds possible names of commands in loose texts. It reports false if there are too
// many, or all is false.
func appendMentioned(keys, texts []string, all bool) ([]string, bool) {
	for _, text := range texts {
		var complete bool
		keys, complete = appendNames(keys, text)
		all = all && complete
	}
	return keys, all
}

// mayRunAnything reports whether the words of a command leave open which command it runs.
func (c *Command) mayRunAnything() bool {
	return c.opaque || (c.kind.runsOthers && !c.complete) || strings.Contains(firstWord(c.opens[0]), unknown)
}

// appendFirst adds the first word of a text, whole and up to a colon.
func appendFirst(keys []string, text string) []string {
	first := firstWord(text)
	keys = append(keys, first)
	if before, _, colon := strings.Cut(first, ":"); colon {
		keys = append(keys, before)
	}
	return keys
}

// AppendAllowKeys adds the keys by which allow patterns for the command are found, beside those of its script.
func (c *Command) AppendAllowKeys(keys []string) []string {
	keys = appendWordsKeys(keys, c.Words[:min(len(c.Words), maxKeyWords)])
	if c.Redirect && c.Words[0] == ">>" {
		keys = appendWordsKeys(keys, []string{">", c.Words[1]})
	}
	return keys
}

// appendWordsKeys adds a key for each beginning of a command's words, the last word whole and up to
// each colon.
func appendWordsKeys(keys, words []string) []string {
	key, at := wordsKey(words), 0
	for _, word := range words {
		begin := at + 1
		at = begin + len(word)
		for i := begin; i < at; i++ {
			if key[i] == ':' {
				keys = append(keys, key[:i])
			}
		}
		keys = append(keys, key[:at])
	}
	return keys
}

func isOption(word string) bool { return strings.HasPrefix(word, "-") }

// IsOperand reports whether a word is not an option.
func IsOperand(word string) bool { return !isOption(word) }
