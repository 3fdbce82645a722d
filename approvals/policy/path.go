package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// location is a cleaned path: from where it counts, how far up it leads first,
// and what follows.
type location struct {
	anchor string // "" the agent's folder, "/", "~", "~user" or a drive such as "c:"
	up     int    // leading ..
	body   string // the rest, without a leading slash
	lower  string // the body in lower case
}

// locate cleans a path. The problem says why it cannot be told what programs
// take it for, or is "".
func locate(text string) (l location, problem string) {
	text = homeForm(text)
	anchor, rest := "", text
	switch {
	case strings.HasPrefix(text, "/"):
		anchor = "/"
	case strings.HasPrefix(text, "~"):
		anchor, rest, _ = strings.Cut(text, "/")
	case hasDrive(text):
		anchor, rest = strings.ToLower(text[:2]), text[2:]
	}
	if anchor == "/" || hasDrive(anchor) && strings.HasPrefix(rest, "/") {
		rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
	} else {
		rest = path.Clean(strings.TrimLeft(rest, "/"))
	}
	l = location{anchor: anchor, body: rest}
	for l.body == ".." || strings.HasPrefix(l.body, "../") {
		l.up++
		l.body = strings.TrimPrefix(l.body[2:], "/")
	}
	if l.body == "." {
		l.body = ""
	}
	l.lower = foldCase(l.body)
	problem = pathProblem(text)
	if problem == "" && l.inProc() {
		problem = "The path leads through /proc, where folders stand for others."
	}
	return l, problem
}

// homeForm writes the ways to name the home folder as one.
func homeForm(text string) string {
	for _, form := range []string{"$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(text, form); ok && (rest == "" || rest[0] == '/') {
			return "~" + rest
		}
	}
	return text
}

// within is a path as it counts from a working folder.
func within(folder, text string) string {
	if folder == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(homeForm(text), "~") || hasDrive(text) || hasScheme(text) {
		return text
	}
	return strings.TrimSuffix(folder, "/") + "/" + text
}

func (l location) inProc() bool {
	return l.anchor == "/" && (l.body == "proc" || strings.HasPrefix(l.body, "proc/"))
}

func pathProblem(text string) string {
	switch {
	case text == "":
		return "The path is empty."
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "The path holds characters that cannot be seen."
	case strings.TrimSpace(text) != text:
		return "The path begins or ends with space, which some programs drop."
	case strings.Contains(text, `\`):
		return "The path holds a backslash, which some systems take for a slash."
	case hasDrive(text) && !strings.HasPrefix(text[2:], "/"):
		return "The path is relative to the current folder of a drive."
	case droppedByWindows(text):
		return "The path has a name that Windows takes for another: one that ends in a dot or a space, or with ::."
	case !hasDrive(text) && hasScheme(text):
		return "The path looks like a URL."
	case strings.HasPrefix(homeForm(text), "$") || strings.HasPrefix(text, "%"):
		return "The path begins with what may be a variable."
	}
	return ""
}

// droppedByWindows reports whether Windows drops a part of a name in a path.
func droppedByWindows(text string) bool {
	for name := range strings.SplitSeq(text, "/") {
		if name != "." && name != ".." && (strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ")) {
			return true
		}
	}
	return strings.Contains(text, "::")
}

func hasDrive(text string) bool {
	return len(text) >= 2 && text[1] == ':' && isLetter(text[0])
}

// hasScheme reports whether a text begins as a URL does.
func hasScheme(text string) bool {
	name, _, found := strings.Cut(text, ":")
	return found && name != "" && isLetter(name[0]) && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !isLetter(byte(r)) && !strings.ContainsRune("0123456789+.-", r)
	})
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// otherPaths are other paths that programs may take a text for.
func otherPaths(text string) []string {
	var others []string
	if t := strings.ReplaceAll(strings.TrimSpace(text), `\`, "/"); t != text {
		others = append(others, t)
	}
	if i := strings.Index(text, "://"); i >= 0 {
		others = append(others, text[i+len("://"):])
	}
	return others
}

// pathGlob is the argument of a pattern compared with a path. Only * and ** are
// special in it.
type pathGlob struct {
	location          // its body is a doublestar pattern
	anywhere bool     // begins with **
	head     string   // the first segment in lower case
	keys     []string // what it is looked up by
	fixed    bool
	core     string // the longest text between its stars, in lower case
}

// literalGlob escapes what is special to doublestar only.
var literalGlob = strings.NewReplacer(`?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

func newPathGlob(text string) (*pathGlob, error) {
	if strings.HasSuffix(text, "/") && text != "/" {
		text += "**"
	}
	l, _ := locate(text)
	if problem := pathProblem(text); problem != "" {
		return nil, errors.New("cannot be compared with a path: " + strings.ToLower(problem[:1]) + strings.TrimSuffix(problem[1:], "."))
	}
	wild := false
	for segment := range strings.SplitSeq(text, "/") {
		if segment == ".." && wild {
			return nil, errors.New("has a .. after a *: what it leads to cannot be told")
		}
		if strings.Contains(segment, "**") && segment != "**" {
			return nil, fmt.Errorf("has %q: ** must stand alone between slashes", segment)
		}
		wild = wild || strings.Contains(segment, "*")
	}
	core := ""
	for text := range strings.SplitSeq(l.lower, "*") {
		if text = strings.Trim(text, "/"); len(text) > len(core) {
			core = text
		}
	}
	head, keys := firstSegment(l.lower), pathKeys(l.lower)
	l.body = literalGlob.Replace(l.body)
	l.lower = foldCase(l.body)
	if !doublestar.ValidatePattern(l.body) {
		return nil, errors.New("is not a path pattern")
	}
	return &pathGlob{
		location: l,
		head:     head,
		core:     core,
		anywhere: l.anchor == "" && l.up == 0 && strings.HasPrefix(text, "**"),
		keys:     keys,
		fixed:    !strings.Contains(lastSegment(l.lower), "*"),
	}, nil
}

// pathKeys are those of a pattern: its last segment, or each that has no * where
// the first has none. Any path that it matches ends with the one, or has one of
// the others.
func pathKeys(lower string) []string {
	if last := lastSegment(lower); !strings.Contains(last, "*") {
		return []string{last}
	}
	if strings.Contains(firstSegment(lower), "*") {
		return nil
	}
	var keys []string
	for segment := range strings.SplitSeq(lower, "/") {
		if !strings.Contains(segment, "*") {
			keys = append(keys, segmentKey(segment))
		}
	}
	return keys
}

// segmentKey is the key of the paths that have a segment.
func segmentKey(segment string) string { return "/" + segment }

func lastSegment(body string) string { return body[strings.LastIndexByte(body, '/')+1:] }

// covers reports whether a path is among those that the glob means, for an
// allow.
func (g *pathGlob) covers(l location) bool {
	return g.anchor == l.anchor && g.up == l.up && doublestar.MatchUnvalidated(g.body, l.body)
}

// match says the same for a deny or ask: maybe where it depends on the agent's
// folder or on whether its file system minds letter case.
func (g *pathGlob) match(l location) match {
	beside := g.anchor == l.anchor && g.up == l.up
	if beside && !strings.Contains(g.head, "*") && firstSegment(l.lower) != g.head {
		return no
	}
	if g.covers(l) || g.anywhere && doublestar.MatchUnvalidated(g.body, l.body) {
		return yes
	}
	body := l.lower
	if (g.anywhere || beside) && doublestar.MatchUnvalidated(g.lower, body) {
		return maybe
	}
	if beside {
		return no
	}
	if endsLike(body, func(end string) bool { return doublestar.MatchUnvalidated(g.lower, end) }) {
		return maybe
	}
	if endsLike(g.lower, func(end string) bool {
		first, _, _ := strings.Cut(end, "/")
		return !strings.Contains(first, "*") && doublestar.MatchUnvalidated(end, body)
	}) {
		return maybe
	}
	return no
}

// below reports whether what the glob means may stand in the tree below a path.
func (g *pathGlob) below(l location) bool {
	if g.anywhere || g.anchor != l.anchor {
		return true
	}
	if l.up != g.up {
		return l.up > g.up
	}
	fixed, _, _ := strings.Cut(g.lower, "*")
	body := l.lower
	return body == "" || strings.HasPrefix(fixed, body) || strings.HasPrefix(body, fixed)
}

// endsLike reports whether what any slash of a path leaves behind it is like
// that, the whole path included.
func endsLike(body string, like func(string) bool) bool {
	for {
		if like(body) {
			return true
		}
		_, rest, more := strings.Cut(body, "/")
		if !more {
			return false
		}
		body = rest
	}
}

// invisible says that a text holds characters which a reviewer cannot see, or
// "". Line ends and tabs are no surprise.
func invisible(text string) string {
	if i := strings.IndexFunc(text, hidden); i >= 0 {
		return "The call holds characters that cannot be seen."
	}
	return ""
}

func hidden(r rune) bool {
	return !unicode.IsPrint(r) && !slices.Contains([]rune{'\n', '\t', '\r'}, r)
}
