// Package toolname compares the names of tools as agents mend them: many run the tool that a wrong
// name most likely means, so a rule for that tool must hold for the wrong name. It is pure. Package
// policy, the readers of wrapped calls and the questions of heldcall use it.
package toolname

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Bounds of the names that are compared. Agents know no tool with a longer name.
const (
	maxName     = 512 // bytes; of a longer one the beginning and the end count
	maxPrefixes = 12  // separators, counted from the end
	maxSuffixes = 4
)

// Key returns a name without case, separators, accents and other signs: two names with the same key
// are the same to an agent that mends case, hyphens, underscores and camel case.
func Key(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return lowest(r)
	}, norm.NFKD.String(name))
}

// lowest is the same for all letter cases of a letter.
func lowest(r rune) rune {
	low := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		low = min(low, other)
	}
	return unicode.ToLower(low)
}

// Keys returns the keys of a name and of the name without prefixes that end in one of
// . : / = > | or __, and without suffixes: _tool, a number after a separator, and a text that begins with
// one of < ( [ { or a space. The first key is that of the whole name.
//
// A name of an MCP server's tool, mcp__SERVER__TOOL, is whole: it may be that of a tool, and its server is part of it.
func Keys(name string) []string { return keys(name, Spellings) }

// AllKeys returns the [Keys] of a name that is not that of a tool, or of one that agents take in its place: also
// without the server of MCP, and without a word for tools that no sign separates, as in functions_bash and bashtool.
func AllKeys(name string) []string {
	all := keys(name, func(name string) []string { return spellings(name, tails) })
	for _, key := range slices.Clone(all) {
		for _, word := range wordsForTools {
			all = appendNew(all, strings.TrimPrefix(key, word))
		}
		all = appendNew(all, strings.TrimSuffix(key, "tool"))
	}
	return all
}

// wordsForTools are the keys of words with which a name may begin and that only say that it is one.
var wordsForTools = []string{"functions", "function", "tools", "tool", "defaultapi", "mcp"}

func keys(name string, spellings func(string) []string) []string {
	all := []string{Key(bounded(name))}
	for _, spelling := range spellings(name) {
		all = appendNew(all, Key(spelling))
	}
	return all
}

// bounded returns a name of at most maxName bytes.
func bounded(name string) string {
	if len(name) > maxName {
		return name[:maxName/2] + name[len(name)-maxName/2:]
	}
	return name
}

// appendNew appends a text to others that are not equal. It leaves out "".
func appendNew(all []string, text string) []string {
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// Spellings returns a name, and the name without its prefixes and suffixes: see [Keys].
func Spellings(name string) []string {
	if IsMCP(name) {
		return Whole(name)
	}
	return spellings(name, tails)
}

// Whole returns a name, and the name without its suffixes.
func Whole(name string) []string {
	return spellings(name, func(name string) []string { return []string{name} })
}

func spellings(name string, tails func(string) []string) []string {
	var all []string
	name = norm.NFKC.String(bounded(name)) // agents see the signs of another width alike
	for _, tail := range tails(name) {
		for range maxSuffixes + 1 {
			all = appendNew(all, tail)
			tail = withoutSuffix(tail)
		}
	}
	return all
}

// tails are a name and what is after each of its last prefixes.
func tails(name string) []string {
	all := []string{name}
	for i := len(name) - 1; i > 0 && len(all) <= maxPrefixes; i-- {
		if strings.IndexByte(".:/=>|", name[i-1]) >= 0 || strings.HasSuffix(name[:i], "__") {
			all = append(all, name[i:])
		}
	}
	return all
}

// IsMCP reports whether a name is like that of the tool of an MCP server, mcp__SERVER__TOOL.
func IsMCP(name string) bool {
	parts := strings.Split(name, "__")
	return len(parts) > 2 && strings.EqualFold(parts[0], "mcp") && !slices.Contains(parts, "")
}

// withoutSuffix returns a name without its last suffix, or the name.
func withoutSuffix(name string) string {
	if cut := strings.IndexAny(name, "<([{ \t\r\n"); cut > 0 {
		return name[:cut]
	}
	trimmed := strings.TrimRight(name, "0123456789")
	if short := strings.TrimRight(trimmed, ":#._-/"); short != "" && short != trimmed && trimmed != name {
		return short
	}
	if n := len(name) - len("tool"); n > 0 && strings.EqualFold(name[n:], "tool") {
		if short := strings.TrimRight(name[:n], "_-. "); short != name[:n] || name[n] == 'T' {
			return short
		}
	}
	return strings.TrimRight(name, "_-.:/#\"'`*>|) \t\r\n")
}

// Pattern returns an expression for the names, as [Snake] writes them, that match a glob as agents mend names. The glob
// is its texts between the stars, which the groups of the expression are. A separator in it must be the end of a word in
// the name: mcp__git__* is no pattern for mcp__github__x, as it would be for [Key].
func Pattern(texts []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i, text := range texts {
		if i > 0 {
			b.WriteString("(.*)")
		}
		letter := false // the last one was no separator
		for _, r := range norm.NFKD.String(text) {
			switch {
			case unicode.Is(unicode.Mn, r):
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				if letter {
					b.WriteString("_?")
				}
				b.WriteRune(lowest(r))
				letter = true
			case letter || b.String()[b.Len()-1] != '_':
				b.WriteString("_")
				letter = false
			}
		}
	}
	return regexp.MustCompile("(?s)" + b.String() + "$")
}

// Snake returns a name in lower case with one underscore between its words, for a comparison with a
// [Pattern].
func Snake(name string) string {
	var b strings.Builder
	runes := []rune(norm.NFKD.String(name))
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r):
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			separate(&b)
		default:
			if beginsWord(runes, i) {
				separate(&b)
			}
			b.WriteRune(lowest(r))
		}
	}
	return b.String()
}

func separate(b *strings.Builder) {
	if !strings.HasSuffix(b.String(), "_") {
		b.WriteByte('_')
	}
}

// beginsWord reports whether a letter begins a word by its case, as the R of deleteRepo and of
// HTMLReader.
func beginsWord(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	return unicode.IsLower(before) || unicode.IsDigit(before) ||
		(unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1]))
}

// Near returns those of some names for which agents may take a wrong one: those that share a key
// with it, the longest key first. A tool of one MCP server is not taken for that of another.
func Near(name string, offered []string) []string {
	mcp, whole, parts := IsMCP(name), Keys(name), AllKeys(name)
	shared := map[string]int{} // the length of the longest shared key
	var near []string
	for _, other := range offered {
		longest := 0
		keys, otherKeys := parts, AllKeys
		if mcp && IsMCP(other) {
			keys, otherKeys = whole, Keys
		}
		for _, key := range otherKeys(other) {
			if key != "" && slices.Contains(keys, key) {
				longest = max(longest, len(key))
			}
		}
		if longest > 0 {
			shared[other], near = longest, append(near, other)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return shared[b] - shared[a] })
	return near
}

// Nearest returns the one of some names that a wrong name most likely means, for a person; "" if
// none is alike.
func Nearest(name string, offered []string) string {
	if near := Near(name, offered); len(near) > 0 {
		return near[0]
	}
	key, nearest := Key(name), ""
	if len(key) > maxName {
		return ""
	}
	least := len(key)/3 + 1 // changed letters
	for _, other := range offered {
		if d := distance(key, Key(other), least); d < least {
			least, nearest = d, other
		}
	}
	return nearest
}

// distance is how many bytes of a text are changed, added or left out in another one, or most if
// that is less.
func distance(a, b string, most int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
