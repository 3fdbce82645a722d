package match

import (
	"regexp"
	"slices"
	"strings"
)

// HasGlob reports whether a text has a sign that is special in the globs of agents' tools.
func HasGlob(text string) bool { return globSign(text) >= 0 }

// globSign returns where the first such sign is, or -1.
func globSign(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '*', '?', '[', '{':
			return i
		}
	}
	return -1
}

// Limits of filters; larger ones may select anything.
const (
	maxFilter       = 1 << 10 // bytes
	maxAlternatives = 64      // of braces
	maxSegments     = 16      // with ** next to each other as one
)

// FilterSelects reports whether a filter, read as globs, selects listed names by more than their
// extension. A filter that is not a glob is compared by listed.
func FilterSelects(filter string, list []*PathGlob, listed func(Location) bool) bool {
	if len(filter) > maxFilter {
		return true
	}
	alternatives, ok := expandBraces(FoldCase(filter))
	if !ok {
		return true
	}
	selects := func(glob string) bool { return globSelects(glob, list, listed) }
	return slices.ContainsFunc(alternatives, func(one string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == ' ' }), selects)
	})
}

// globSelects is filterSelects for one glob without braces.
func globSelects(glob string, list []*PathGlob, listed func(Location) bool) bool {
	if strings.HasPrefix(glob, "!") {
		return false // takes names out
	}
	if !HasGlob(glob) {
		l := LocationOf(glob)
		return listed(l)
	}
	segments := append([]string{"**"}, strings.Split(strings.Trim(glob, "/"), "/")...)
	segments = slices.CompactFunc(segments, func(a, b string) bool { return a == "**" && b == "**" })
	if len(segments) > maxSegments {
		return true
	}
	names := filterNames(segments)
	absolute, whole := strings.HasPrefix(glob, "/"), filterNames(strings.Split(strings.Trim(glob, "/"), "/"))
	return slices.ContainsFunc(list, func(g *PathGlob) bool {
		switch {
		case g.Anywhere:
			return selectsSegments(names, g.segments, false)
		case absolute && g.Anchor == "/":
			return selectsPath(whole, g.segments, false)
		}
		return false
	})
}

// selectsPath reports whether an absolute path matches the segments of both a filter and a listed glob, and one segment
// of the list meets one of the filter by more than chance.
func selectsPath(filter []filterName, list []string, pinned bool) bool {
	switch {
	case len(list) == 0:
		return pinned && !slices.ContainsFunc(filter, func(name filterName) bool { return name.text != "**" })
	case list[0] == "**":
		return pinned && len(filter) > 0 // whatever is below
	case len(filter) == 0:
		return false
	case filter[0].text == "**":
		return selectsPath(filter[1:], list, pinned) || selectsPath(filter, list[1:], pinned)
	}
	return meetsAny(filter[0], list[0]) && selectsPath(filter[1:], list[1:], pinned || meetsName(filter[0], list[0]))
}

// Selection is a path with a * or ? that a shell expands, to be compared with many globs.
type Selection struct {
	Location
	names []filterName // nil: it has no such sign
	all   bool         // it has too many segments, and may select anything
}

// NewSelection returns a path for [PathGlob.Selected].
func NewSelection(l Location) Selection {
	s := Selection{Location: l}
	if strings.ContainsAny(l.Lower, "*?") {
		segments := strings.Split(l.Lower, "/")
		s.names, s.all = filterNames(segments), len(segments) > maxSegments
	}
	return s
}

// Selected reports whether a path with a * or ? that a shell expands selects a path that matches, by more than
// its extension.
func (g *PathGlob) Selected(s *Selection) bool {
	if s.names == nil || (!g.Anywhere && (g.Anchor != s.Anchor || g.Up != s.Up)) {
		return false
	}
	return s.all || selectsSegments(s.names, g.segments, false)
}

// filterName is a segment of a filter.
type filterName struct {
	text  string // "**": any segments
	plain string // with ? in place of each class in brackets and escaped letter
	open  bool   // see openFilter
}

func filterNames(segments []string) []filterName {
	names := make([]filterName, len(segments))
	for i, text := range segments {
		names[i] = filterName{text, classes.ReplaceAllString(text, "?"), openFilter.MatchString(text)}
	}
	return names
}

// expandBraces returns a glob for each combination of the alternatives in braces, or false if there
// are too many.
func expandBraces(glob string) ([]string, bool) {
	open := strings.IndexByte(glob, '{')
	if open < 0 {
		return []string{glob}, true
	}
	parts, depth, begin, end := []string{}, 0, open+1, -1
	for i := open; i < len(glob) && end < 0; i++ {
		switch {
		case glob[i] == '{':
			depth++
		case glob[i] == '}':
			if depth--; depth == 0 {
				parts, end = append(parts, glob[begin:i]), i
			}
		case glob[i] == ',' && depth == 1:
			parts, begin = append(parts, glob[begin:i]), i+1
		}
	}
	if end < 0 {
		return []string{strings.ReplaceAll(glob, "{", "?")}, true
	}
	var all []string
	for _, part := range parts {
		more, ok := expandBraces(glob[:open] + part + glob[end+1:])
		if all = append(all, more...); !ok || len(all) > maxAlternatives {
			return nil, false
		}
	}
	return all, true
}

// Alternatives returns a glob for each combination of the alternatives in braces, or false if there are too many.
func Alternatives(glob string) ([]string, bool) { return expandBraces(glob) }

// selectsSegments reports whether a path matches the segments of both a filter and a listed glob.
// The first named segment of the list must meet a segment of the filter other than **; pinned
// reports that it has.
func selectsSegments(filter []filterName, list []string, pinned bool) bool {
	switch {
	case len(list) == 0:
		return pinned && !slices.ContainsFunc(filter, func(name filterName) bool { return name.text != "**" })
	case list[0] == "**":
		return selectsSegments(filter, list[1:], pinned) || (len(filter) > 0 && selectsSegments(filter[1:], list, pinned))
	case len(filter) == 0:
		return false
	case filter[0].text == "**":
		return selectsSegments(filter[1:], list, pinned) || (pinned && selectsSegments(filter, list[1:], pinned))
	}
	meets := meetsName
	if pinned {
		meets = meetsAny
	}
	return meets(filter[0], list[0]) && selectsSegments(filter[1:], list[1:], true)
}

// openFilter matches a name of a filter that selects all names, or all of an extension.
var openFilter = regexp.MustCompile(`^[*?]*(\.[a-z0-9_+-]+)*(\.\*)?$`)

// meetsName reports whether a filter's name selects a listed name by more than chance.
func meetsName(filter filterName, list string) bool {
	switch {
	case strings.HasPrefix(list, "*"):
		return overlap(filter.plain, list, true)
	case strings.HasPrefix(filter.text, "*"):
		return !filter.open && overlap(filter.plain, strings.ReplaceAll(list, "*", ""), false)
	}
	return overlap(filter.plain, list, false)
}

func meetsAny(filter filterName, list string) bool { return overlap(filter.plain, list, false) }

// overlap reports whether one name can match a filter and a listed name. If strict, no * of the
// filter matches a letter of the list.
func overlap(filter, list string, strict bool) bool {
	if filter != "" && list != "" && differ(filter[0], list[0]) {
		return false
	}
	var room [2][64]bool
	reached, next := room[0][:], room[1][:] // by the filter so far: how much of list is met
	if len(list) >= len(reached) {
		reached, next = make([]bool, len(list)+1), make([]bool, len(list)+1)
	}
	reached, next = reached[:len(list)+1], next[:len(list)+1]
	reached[0] = true
	skipStars(reached, list)
	for _, f := range []byte(filter) {
		if !overlapNext(next, reached, list, f) {
			return false
		}
		reached, next = next, reached
		if f == '*' && !strict {
			for j := range len(list) {
				reached[j+1] = reached[j+1] || reached[j]
			}
		}
		skipStars(reached, list)
	}
	return reached[len(list)]
}

// differ reports whether the first letters of a filter and of a listed name are two letters.
func differ(filter, list byte) bool {
	return filter != list && filter != '*' && filter != '?' && list != '*'
}

func skipStars(reached []bool, list string) {
	for j := range len(list) {
		reached[j+1] = reached[j+1] || (reached[j] && list[j] == '*')
	}
}

// overlapNext sets how much of the list is met with one more character of the filter, and reports whether any is.
func overlapNext(next, reached []bool, list string, f byte) bool {
	clear(next)
	met := false
	for j := range reached {
		if !reached[j] {
			continue
		}
		star := j < len(list) && list[j] == '*'
		if star || f == '*' { // the star of the one matches what the other has
			next[j], met = true, true
		}
		if j < len(list) && !star && (f == '?' || f == list[j]) {
			next[j+1], met = true, true
		}
	}
	return met
}

// classes are sets of letters in a glob, and escaped letters.
var classes = regexp.MustCompile(`\[[^\]]*\]|\\.`)
