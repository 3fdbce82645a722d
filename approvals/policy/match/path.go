package match

import (
	"errors"
	"fmt"
	"math/bits"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// Location is a cleaned path.
type Location struct {
	Anchor string // "" the agent's folder, "/", "~", "~user" or a drive such as "c:"
	Up     int    // leading ..
	Body   string // the rest, without a leading slash
	Lower  string // the body in lower case
}

// Locate cleans a path. The problem is the reason why programs may read it differently, or "".
func Locate(text string) (l Location, problem string) {
	text = WindowsForm(homeForm(text))
	l, problem = locate(text), pathProblem(text)
	if problem == "" && l.inProc() {
		problem = "The path leads through /proc, where names are links to other folders."
	}
	return l, problem
}

// LocationOf is [Locate] for a path that programs may read differently.
func LocationOf(text string) Location { return locate(WindowsForm(homeForm(text))) }

func locate(text string) Location {
	anchor, rest := "", text
	switch {
	case strings.HasPrefix(text, "/"):
		anchor = "/"
	case strings.HasPrefix(text, "~"):
		anchor, rest, _ = strings.Cut(text, "/")
	case HasDrive(text):
		anchor, rest = strings.ToLower(text[:2]), text[2:]
	}
	if anchor == "/" || (HasDrive(anchor) && strings.HasPrefix(rest, "/")) {
		rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
	} else {
		rest = path.Clean(strings.TrimLeft(rest, "/"))
	}
	l := Location{Anchor: anchor, Body: rest}
	for l.Body == ".." || strings.HasPrefix(l.Body, "../") {
		l.Up++
		l.Body = strings.TrimPrefix(l.Body[2:], "/")
	}
	if l.Body == "." {
		l.Body = ""
	}
	l.Lower = FoldCase(l.Body)
	return l
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

// JoinFolder is a path as it counts from a working folder.
func JoinFolder(folder, text string) string {
	if folder == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, `\`) || strings.HasPrefix(homeForm(text), "~") || HasDrive(text) || hasScheme(text) {
		return text
	}
	return strings.TrimSuffix(folder, "/") + "/" + text
}

// isBelow reports whether a path is in the agent's folder.
func (l Location) isBelow() bool { return l.Anchor == "" && l.Up == 0 }

// Absolute returns an absolute path as text, or "" of another one.
func (l Location) Absolute() string {
	if l.Anchor != "/" || l.Up > 0 {
		return ""
	}
	return "/" + l.Body
}

// Within reports whether a path is a folder or in it.
func (l Location) Within(folder Location) bool {
	return l.Anchor == folder.Anchor && l.Up == 0 && folder.Up == 0 &&
		(folder.Body == "" || l.Body == folder.Body || strings.HasPrefix(l.Body, folder.Body+"/"))
}

func (l Location) inProc() bool {
	return l.Anchor == "/" && (l.Body == "proc" || strings.HasPrefix(l.Body, "proc/"))
}

func pathProblem(text string) string {
	switch {
	case text == "":
		return "The path is empty."
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "The path contains invisible characters."
	case strings.TrimSpace(text) != text:
		return "The path begins or ends with a space, which some programs remove."
	case strings.ContainsAny(text[:1], `\~$`) && strings.Contains(text, `\`):
		return "The path contains a backslash, and whether it is relative depends on the system."
	case windowsProblem(text):
		return "The path has a name that Windows reads as another one: a short name such as ENV~1, or a stream after a colon."
	case HasDrive(text) && !strings.HasPrefix(text[2:], "/"):
		return "The path is relative to the current folder of a drive."
	case droppedByWindows(text):
		return "The path has a name that Windows reads as another one: it ends in a dot or a space, or contains ::."
	case !HasDrive(text) && hasScheme(text):
		return "The path looks like a URL."
	case strings.HasPrefix(homeForm(text), "$") || strings.HasPrefix(text, "%"):
		return "The path may begin with a variable."
	}
	return ""
}

// hasScheme reports whether a text begins as a URL does.
func hasScheme(text string) bool {
	name, _, found := strings.Cut(text, ":")
	return found && name != "" && IsLetter(name[0]) && !strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || (!IsLetter(byte(r)) && !strings.ContainsRune("0123456789+.-", r))
	})
}

// PathGlob is the argument of a pattern for paths. Only * and ** are special.
type PathGlob struct {
	Location          // its body is a doublestar pattern
	Anywhere bool     // begins with **
	Dotted   bool     // begins with ./: counts from the folders of the workspace, if there is one
	head     string   // the first segment in lower case
	Keys     []string // what it is looked up by
	Fixed    bool
	core     string  // the longest text between its stars, in lower case
	bytes    byteSet // of core
	segments []string
	onlyCore bool // a path that matches, or may, contains core: all other segments have a star
}

// literalGlob escapes the characters that only doublestar treats as special.
var literalGlob = strings.NewReplacer(`?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// NewPathGlob reads the argument of a pattern for paths.
func NewPathGlob(text string) (*PathGlob, error) {
	if strings.HasSuffix(text, "/") && text != "/" {
		text += "**"
	}
	text = WindowsForm(text)
	l := LocationOf(text)
	if problem := GlobProblem(text); problem != "" {
		return nil, errors.New("cannot be compared with a path: " + strings.ToLower(problem[:1]) + strings.TrimSuffix(problem[1:], "."))
	}
	wild := false
	for segment := range strings.SplitSeq(text, "/") {
		if segment == ".." && wild {
			return nil, errors.New("has a .. after a *, so the folder is unknown")
		}
		if strings.Contains(segment, "**") && segment != "**" {
			return nil, fmt.Errorf("has %q: ** must be alone between slashes", segment)
		}
		wild = wild || strings.Contains(segment, "*")
	}
	core := ""
	for text := range strings.SplitSeq(l.Lower, "*") {
		if text = strings.Trim(text, "/"); len(text) > len(core) {
			core = text
		}
	}
	head, keys, below := FirstSegment(l.Lower), pathKeys(l.Lower), l.isBelow()
	l.Body = literalGlob.Replace(l.Body)
	l.Lower = FoldCase(l.Body)
	if !doublestar.ValidatePattern(l.Body) {
		return nil, errors.New("is not a path pattern")
	}
	return &PathGlob{
		Location: l,
		head:     head,
		core:     core,
		bytes:    newByteSet(core),
		segments: strings.Split(l.Lower, "/"),
		onlyCore: onlyIn(core, l.Lower),
		Anywhere: below && strings.HasPrefix(text, "**"),
		Dotted:   below && strings.HasPrefix(text, "./"),
		Keys:     keys,
		Fixed:    !strings.Contains(LastSegment(l.Lower), "*"),
	}, nil
}

// onlyIn reports whether a text is in one segment of a glob, and all others have a star.
func onlyIn(core, glob string) bool {
	if core == "" || strings.Contains(core, "/") {
		return false
	}
	for segment := range strings.SplitSeq(glob, "/") {
		if !strings.Contains(segment, "*") && !strings.Contains(segment, core) {
			return false
		}
	}
	return true
}

// GlobProblem returns why a pattern cannot be compared with paths, or "".
func GlobProblem(text string) string {
	problem := pathProblem(text)
	if problem == "" && strings.Contains(text, `\`) {
		problem = "It contains a backslash and no drive."
	}
	return problem
}

// pathKeys returns the last segment, or if that has a * and the first has none, each segment
// without one. A path that matches ends with the former or has one of the latter.
func pathKeys(lower string) []string {
	if last := LastSegment(lower); !strings.Contains(last, "*") {
		return []string{last}
	}
	if strings.Contains(FirstSegment(lower), "*") {
		return nil
	}
	var keys []string
	for segment := range strings.SplitSeq(lower, "/") {
		if !strings.Contains(segment, "*") {
			keys = append(keys, SegmentKey(segment))
		}
	}
	return keys
}

// SegmentKey is the key of the paths that have a segment.
func SegmentKey(segment string) string { return "/" + segment }

// LastSegment returns the text after the last slash.
func LastSegment(body string) string { return body[strings.LastIndexByte(body, '/')+1:] }

// Covers reports whether a path matches, for an allow rule.
func (g *PathGlob) Covers(l Location) bool {
	return g.Anchor == l.Anchor && g.Up == l.Up && doublestar.MatchUnvalidated(g.Body, l.Body)
}

// Needs returns a text that the path in lower case contains for any other result of [PathGlob.Match] than No, or "".
func (g *PathGlob) Needs() string {
	if !g.onlyCore {
		return ""
	}
	return g.core
}

// Match compares a path for a deny or ask rule. It is [Maybe] if the agent's folder or letter case
// decides.
func (g *PathGlob) Match(l Location) Result {
	if g.onlyCore && !strings.Contains(l.Lower, g.core) {
		return No
	}
	return g.match(l)
}

func (g *PathGlob) match(l Location) Result {
	beside := g.Anchor == l.Anchor && g.Up == l.Up
	if beside && !strings.Contains(g.head, "*") && FirstSegment(l.Lower) != g.head {
		return No
	}
	if g.Covers(l) || (g.Anywhere && doublestar.MatchUnvalidated(g.Body, l.Body)) {
		return Yes
	}
	body := l.Lower
	if (g.Anywhere || beside) && doublestar.MatchUnvalidated(g.Lower, body) {
		return Maybe
	}
	if beside {
		return No
	}
	if g.matchesEnd(body) {
		return Maybe
	}
	if endsLike(g.Lower, func(end string) bool {
		first, _, _ := strings.Cut(end, "/")
		return !strings.Contains(first, "*") && doublestar.MatchUnvalidated(end, body)
	}) {
		return Maybe
	}
	return No
}

// matchesEnd reports whether the glob matches a path in lower case, or the rest of it after any slash. One that begins
// with ** matches the whole path then.
func (g *PathGlob) matchesEnd(body string) bool {
	matches := func(end string) bool { return doublestar.MatchUnvalidated(g.Lower, end) }
	if strings.HasPrefix(g.Lower, "**") {
		return matches(body)
	}
	return endsLike(body, matches)
}

// byteSet has a bit for each byte of a text, another one for each sign, digit and small letter. A text has all
// bits of a text that it contains.
type byteSet uint64

func newByteSet(text string) (set byteSet) {
	for i := range len(text) {
		set |= 1 << (text[i]&31 | text[i]>>1&32)
	}
	return set
}

// Lists reports whether a glob matches a path in any letter case. A path that leads up from the
// agent's folder may be anywhere.
func Lists(globs []*PathGlob, l Location) bool {
	bytes := newByteSet(l.Lower)
	return slices.ContainsFunc(globs, func(g *PathGlob) bool {
		if g.bytes&^bytes != 0 || !strings.Contains(l.Lower, g.core) {
			return false
		}
		at := g.Anywhere || (g.Anchor == l.Anchor && g.Up == l.Up) || (l.Anchor == "" && l.Up > 0)
		return at && doublestar.MatchUnvalidated(g.Lower, l.Lower)
	})
}

// Screen tells fast that no glob of a list is true of a text.
type Screen []byteSet // of their cores, each once, those of the fewest bits first

// NewScreen returns the screen of a list.
func NewScreen(globs []*PathGlob) (s Screen) {
	for _, g := range globs {
		if !slices.Contains(s, g.bytes) {
			s = append(s, g.bytes)
		}
	}
	slices.SortStableFunc(s, func(a, b byteSet) int { return bits.OnesCount64(uint64(a)) - bits.OnesCount64(uint64(b)) })
	return s
}

// MayList reports whether [Lists] may be true of a path that is a part of a text, or of that path with another
// text in place of its name. It is fast, and never wrongly false.
func (s Screen) MayList(text, name string) bool {
	if strings.Contains(text, `\`) {
		return true
	}
	of := newByteSet(FoldCase(text)) | newByteSet(name)
	most := bits.OnesCount64(uint64(of))
	for _, core := range s {
		if core&^of == 0 {
			return true
		}
		if bits.OnesCount64(uint64(core)) > most {
			return false
		}
	}
	return false
}

// Below reports whether a path that matches may be in the tree below a path.
func (g *PathGlob) Below(l Location) bool {
	if g.Anywhere || g.Anchor != l.Anchor {
		return true
	}
	if l.Up != g.Up {
		return l.Up > g.Up
	}
	fixed, _, _ := strings.Cut(g.Lower, "*")
	body := l.Lower
	return body == "" || strings.HasPrefix(fixed, body) || strings.HasPrefix(body, fixed)
}

// endsLike reports whether a path, or the rest of it after any slash, is like that.
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

// FirstSegment returns the text before the first slash.
func FirstSegment(body string) string {
	first, _, _ := strings.Cut(body, "/")
	return first
}

// LeadsUp reports whether a word has .. as a segment of a path.
func LeadsUp(word string) bool {
	return strings.Contains(word, "..") && slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("/:=", r) }), "..")
}

// GlobRoot is the folder in front of the first segment of a glob that is special.
func GlobRoot(glob string) Location {
	before := glob[:globSign(glob)]
	root := before[:strings.LastIndexByte(before, '/')+1]
	if root == "" {
		return Location{}
	}
	return LocationOf(root)
}
