package shell

// A loose text is one that a program may run: words of programs that run others or are unknown,
// assignments, here-documents, the input of pipes. Names of commands are found in it.

import (
	"strings"
)

const (
	maxOptionLetters = 64      // option letters in front of a name
	maxNames         = 2 << 10 // names in a text that patterns are looked up by
	maxName          = 128     // bytes of such a name
)

// withoutEscapes replaces escapes such as \n by their characters.
func withoutEscapes(text string) string {
	var b strings.Builder
	for {
		plain, tail, escaped := strings.Cut(text, `\`)
		b.WriteString(plain)
		if !escaped {
			return b.String()
		}
		n, ok := 0, false
		if tail != "" {
			n, ok = ansiEscape(&b, tail)
		}
		if !ok {
			n = 0
			b.WriteByte('\\')
		}
		text = tail[n:]
	}
}

// spaced returns a text with one space in place of separators and white space.
func spaced(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	between := false
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || strings.IndexByte(";|&()<>[]{},`$'\"\\", c) >= 0:
			between = b.Len() > 0
		case between:
			between = false
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// nameBegins reports whether a command's name may begin at a place in a loose text: after a
// non-letter, option letters, or the letter e of sed.
func nameBegins(text string, place int) bool {
	if place == 0 {
		return true
	}
	afterOther := place == 1 || !isWordByte(text[place-2])
	switch previous := text[place-1]; {
	case previous == '-':
		return afterOther
	case !isWordByte(previous):
		return true
	case previous == 'e' && (place == 1 || !isLower(text[place-2])):
		return true
	}
	return afterOptionLetters(text, place)
}

// afterOptionLetters reports whether - and letters precede a place in a loose text.
func afterOptionLetters(text string, place int) bool {
	i := place
	for i > 0 && isWordByte(text[i-1]) {
		if i--; place-i > maxOptionLetters {
			return true
		}
	}
	return i > 0 && text[i-1] == '-' && (i == 1 || (text[i-2] != '-' && !isWordByte(text[i-2])))
}

// nameEnd is where a name that begins a text ends.
func nameEnd(text string) int {
	for i := range len(text) {
		if !isWordByte(text[i]) && strings.IndexByte("./-", text[i]) < 0 {
			return i
		}
	}
	return len(text)
}

func isWordByte(b byte) bool { return b == '_' || isDigit(b) || isLower(b) || b >= 0x80 }

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

// appendNames adds the texts in a loose text that may be names of commands. It reports false if
// there are too many.
func appendNames(names []string, text string) ([]string, bool) {
	most := len(names) + maxNames
	for i := range len(text) {
		if text[i] == ' ' || !nameBegins(text, i) {
			continue
		}
		if len(names) >= most {
			return names, false
		}
		word := firstWord(text[i:min(len(text), i+maxName+1)])
		end := nameEnd(word)
		if len(word) <= maxName { // else no pattern has it
			names = append(names, word)
		}
		if end > maxName {
			continue
		}
		if name, found := strings.CutSuffix(word[:end], ".exe"); found {
			names = append(names, name)
		}
		if end > 0 && end < len(word) {
			names = append(names, word[:end])
		}
	}
	return names, true
}

// firstWord returns the text before the first white space.
func firstWord(text string) string {
	for i := range len(text) {
		if text[i] == ' ' || text[i] == '\t' || text[i] == '\n' {
			return text[:i]
		}
	}
	return text
}
