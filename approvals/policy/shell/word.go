package shell

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// unknown replaces text that only the running shell knows. Parsed scripts do not contain it.
const unknown = "\x00"

// word is one word of a command with its quoting removed.
type word struct {
	Text string // unknown is in place of what a shell expands; unquoted * and ? stay
	Open string // the text up to what a shell may expand, then unknown; else the text
	Why  string // why the word is not plain, or ""
	Wild bool   // has an unquoted * or ?, and is plain otherwise
	Sign bool   // quotes a variable, which a program that evaluates the word may expand

	Shown string // how people see it, if not by Text, as that has values in place of variables; or ""

	Leading bool // is not plain only because it begins with a * or ?, so that a shell may expand it to options
}

// wordOf reads a word.
func wordOf(w *syntax.Word) word {
	if len(w.Parts) == 1 {
		lit, ok := w.Parts[0].(*syntax.Lit)
		if ok && lit.Value != "" && lit.Value[0] != '~' && (isPlain(lit.Value, true) || lit.Value == "[" || lit.Value == "]" || lit.Value == "!") {
			return word{Text: lit.Value, Open: lit.Value}
		}
	}
	return unquoted(w)
}

func unquoted(w *syntax.Word) word {
	b := wordBuilder{cut: -1}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.literal(part.Value, i == 0)
		case *syntax.SglQuoted:
			b.singleQuoted(part)
		case *syntax.DblQuoted:
			b.doubleQuoted(part)
		default:
			b.unknown(whyExpands)
		}
	}
	read := word{Text: b.text.String(), Why: b.why, Wild: b.wild, Sign: b.sign}
	if b.sets {
		read.Shown = b.shown.String()
	}
	read.Open = read.Text
	if b.cut >= 0 {
		read.Open = read.Text[:b.cut] + unknown
	}
	if read.Wild && read.Why == "" && !harmlessGlob(read.Text) {
		read.Why = whyGlob
		read.Leading = harmlessGlob("./" + read.Text)
	}
	return read
}

// Limits of words with braces: how many words one may mean, and how many lists it may have.
const (
	maxBraces = 64
	maxLists  = 8
)

// appendWords adds the words that a word means: several where it has braces.
func appendWords(words []word, w *syntax.Word) []word {
	switch lists := lists(w); {
	case lists > maxLists:
		return append(words, word{Text: unknown, Open: unknown, Why: whyBraces})
	case lists > 0:
		split := &syntax.Word{Parts: slices.Clone(w.Parts)}
		if syntax.SplitBraces(split) {
			return appendBraces(words, split)
		}
	}
	return append(words, wordOf(w))
}

// appendBraces adds the words that a word with braces means.
func appendBraces(words []word, split *syntax.Word) []word {
	before := len(words)
	for expanded, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(words)-before == maxBraces {
			return append(words, word{Text: unknown, Open: unknown, Why: whyBraces})
		}
		if !slices.ContainsFunc(expanded.Parts, func(part syntax.WordPart) bool { lit, ok := part.(*syntax.Lit); return !ok || lit.Value != "" }) {
			continue // an empty text is no word
		}
		of := wordOf(expanded)
		of.Why = whyBraces
		words = append(words, of)
	}
	return words
}

// lists returns how many lists in braces a word may have.
func lists(w *syntax.Word) (n int) {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{") - strings.Count(lit.Value, "{}") - len(reflogEntry.FindAllStringIndex(lit.Value, -1))
		}
	}
	return n
}

type wordBuilder struct {
	text  strings.Builder
	shown strings.Builder // with the sets of characters of globs, which the text has as a *
	why   string
	cut   int // where the text stops being certain, or -1
	wild  bool
	sign  bool
	sets  bool // there is such a set
}

func (b *wordBuilder) write(text string) {
	b.text.WriteString(text)
	b.shown.WriteString(text)
}

// characterSet is a set of characters in a glob. Where no file has such a name, most shells read it literally: a * means both.
var characterSet = regexp.MustCompile(`\*?\[[A-Za-z0-9][A-Za-z0-9-]*\]\*?`)

// openSet is a name that is nothing but such a set, and an extension.
var openSet = regexp.MustCompile(`^` + characterSet.String() + `(\.[A-Za-z0-9]+)*$`)

// withoutSets returns an unquoted text with a * in place of each set of characters, and a ? before it in a name with more
// letters: a * alone would match a name such as secrets.yaml by chance.
func withoutSets(text string) string {
	if strings.IndexByte(text, '[') < 0 || strings.IndexByte(text, '\\') >= 0 {
		return text
	}
	names := strings.Split(text, "/")
	for i, name := range names {
		with := "?*"
		if openSet.MatchString(name) {
			with = "*"
		}
		names[i] = characterSet.ReplaceAllString(name, with)
	}
	return strings.Join(names, "/")
}

func (b *wordBuilder) note(why string) {
	if b.why == "" {
		b.why = why
	}
}

func (b *wordBuilder) opens() {
	if b.cut < 0 {
		b.cut = b.text.Len()
	}
}

func (b *wordBuilder) unknown(why string) {
	b.note(why)
	b.opens()
	b.write(unknown)
}

// reflogEntry is what git has after a branch: stash@{0}, main@{upstream}. No shell expands braces without a comma or sequence.
var reflogEntry = regexp.MustCompile(`@\{[A-Za-z0-9-]+\}`)

// withoutEntries returns an unquoted text of the same length with no braces in names of entries of the reflog.
func withoutEntries(text string) string {
	if !strings.Contains(text, "@{") {
		return text
	}
	return reflogEntry.ReplaceAllStringFunc(text, func(entry string) string { return strings.NewReplacer("{", "-", "}", "-").Replace(entry) })
}

func (b *wordBuilder) literal(source string, first bool) {
	text := withoutSets(source)
	b.sets = b.sets || text != source
	judged := withoutEntries(text)
	escaped := false
	for i, r := range judged {
		switch {
		case escaped:
			escaped = false
		case strings.HasPrefix(judged[i:], "{}"):
			escaped = true // {} is no list
		case r == '\\' && i+1 < len(judged) && strings.IndexByte("()!;*?[]{}|&<>'\"# .-+^/", judged[i+1]) >= 0:
			escaped = true
		case r == '*' || r == '?':
			b.wild = true
		case !plainRune(judged, i, r, first):
			b.note("The script has a word that a shell may expand.")
		}
	}
	if i := expandedFrom(judged, first); i >= 0 && b.cut < 0 {
		b.cut = b.text.Len() + len(unescape(text[:i], false))
	}
	b.text.WriteString(unescape(text, false))
	b.shown.WriteString(unescape(source, false))
}

// expandedFrom is where in an unquoted text a shell may expand something, or -1.
func expandedFrom(text string, first bool) int {
	if first && strings.HasPrefix(text, "~") {
		return 0
	}
	escaped := false
	for i := range len(text) {
		switch {
		case escaped:
			escaped = false
		case text[i] == '\\', strings.HasPrefix(text[i:], "{}"):
			escaped = true
		case strings.IndexByte("*?[{", text[i]) >= 0:
			return i
		}
	}
	return -1
}

func (b *wordBuilder) singleQuoted(part *syntax.SglQuoted) {
	if !part.Dollar {
		switch {
		case strings.Contains(part.Value, "`"), holdsSubstitution(part.Value):
			b.note(quotesSign)
		case namesVariable(part.Value):
			b.sign = true
		}
		b.write(part.Value)
		return
	}
	b.note("The script has a word in ANSI-C quoting.")
	text, ok := ansiC(part.Value)
	if !ok {
		b.opens()
		text = unknown
	}
	b.write(text)
}

func (b *wordBuilder) doubleQuoted(q *syntax.DblQuoted) {
	if q.Dollar {
		b.unknown("The script has a word in translated quoting.")
		return
	}
	for i, part := range q.Parts {
		if text, ok := documentWord(part); ok {
			b.write(text)
			continue
		}
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.unknown(whyExpands)
			continue
		}
		judged := lit.Value
		if end, found := strings.CutSuffix(judged, "$"); found && i == len(q.Parts)-1 && !strings.HasSuffix(end, `\`) {
			judged = end // in front of the quote it is no variable, in any shell
		}
		if strings.ContainsAny(judged, "$`!") || !plainBackslashes(judged) {
			b.note("The script quotes a $, a back quote, a backslash or a ! in double quotes.")
		}
		b.write(unescape(lit.Value, true))
	}
}

// namesVariable reports whether a text contains a $ in front of what may be a variable.
func namesVariable(text string) bool {
	for i := range len(text) {
		if text[i] == '$' && i+1 < len(text) && strings.IndexByte(" \t)|/,;}]0123456789", text[i+1]) < 0 {
			return true
		}
	}
	return false
}

const whyGlob = "The script has a word that a shell may expand to options or to folders further up."

const whyBraces = "The script has braces that a shell expands."

const whyExpands = "The script has a word that a shell expands."

// quotesSign is why a word is not plain that quotes a $ or a back quote.
const quotesSign = "The script quotes a $ or a back quote."

// plainBackslashes reports whether every shell reads the backslashes of a text in double quotes
// alike: in front of " and another backslash they are removed, in front of others they stay.
func plainBackslashes(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; i == len(text) || strings.IndexByte("$`!\n", text[i]) >= 0 {
			return false
		}
	}
	return true
}

// plainRune reports whether every shell reads an unquoted character literally: letters, digits and
// a few signs. A leading = or % is special to some shells, and ~ is plain inside a name.
func plainRune(text string, at int, r rune, first bool) bool {
	switch {
	case r >= utf8.RuneSelf, isLetter(byte(r)), isDigit(byte(r)), strings.ContainsRune("_-./:,@+", r):
		return true
	case r == '%':
		return at > 0 || !first || isFormat(text)
	case r == '=':
		return at > 0 || !first
	case r == '~' && at > 0:
		before := text[at-1]
		return isLetter(before) || isDigit(before)
	case r == '~':
		return first && (len(text) == 1 || text[1] == '/')
	}
	return false
}

// isFormat reports whether a text is one conversion, such as the %s of stat: a % and a letter. No shell expands that
// in front of an argument; %1 and %self name jobs and processes, %NAME% a variable of cmd.exe.
func isFormat(text string) bool { return len(text) == 2 && text[0] == '%' && isLetter(text[1]) }

// isPlain reports whether every shell reads an unquoted text literally.
func isPlain(text string, first bool) bool {
	for i, r := range text {
		if !plainRune(text, i, r, first) {
			return false
		}
	}
	return true
}

// harmlessGlob reports whether a word with * or ? expands neither to an option nor to a path up, as
// .* does.
func harmlessGlob(text string) bool {
	at := strings.IndexAny(text, "*?")
	switch {
	case at <= 0:
		return false
	case text[0] == '-' && !(strings.HasPrefix(text, "--") && strings.Contains(text[:at], "=")):
		return false
	}
	for segment := range strings.SplitSeq(text, "/") {
		if i := strings.IndexAny(segment, "*?"); i >= 0 && strings.HasPrefix(segment, ".") {
			return false
		}
	}
	return true
}

// unescape removes backslashes that quote. In double quotes only a few signs are escaped.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// certain reports whether a shell reads a word as its text.
func (w word) certain() bool { return w.Open == w.Text }

// mayOpen reports whether a shell may expand something in a word.
func (w word) mayOpen() bool { return !w.certain() || strings.Contains(w.Text, unknown) }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// holdsSubstitution reports whether a quoted text contains a substitution, which a program that
// evaluates it would run.
func holdsSubstitution(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, `\$`)
}
