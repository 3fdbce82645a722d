package edits

import (
	"slices"
	"strings"
)

const (
	// maxFiles is the largest number of files of one call that are looked for.
	maxFiles = 32
	// maxEdits is the largest number of edits of one file whose lines are looked for.
	maxEdits = 200
	// maxPath is the longest path, in bytes.
	maxPath = 4 << 10
)

// replacements are the names of the arguments with a text and the one in its place, and everywhere those that have it replaced
// wherever it is. The inbox has the same names, in present/file.js.
var (
	replacements = [][2]string{
		{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}, {"oldText", "newText"}, {"old_text", "new_text"}, {"search", "replace"},
	}
	everywhere = []string{"replace_all", "replaceAll"}
)

// File is a file that a call writes.
type File struct {
	Path  string
	Whole bool // the call has the whole new text
	edits []edit
}

// edit is one place of a file that a call changes.
type edit struct {
	before string   // the text that is replaced, if hunk is nil
	all    bool     // wherever it is
	hunk   []string // the lines that a patch expects
	below  string   // the line after which a patch expects them, "" for any
}

// replace adds the replacement in some members.
func (f *File) replace(members map[string]any) {
	for _, names := range replacements {
		before, isText := members[names[0]].(string)
		if _, both := members[names[1]].(string); !isText || !both || len(f.edits) == maxEdits {
			continue
		}
		all := slices.ContainsFunc(everywhere, func(name string) bool { return members[name] == true })
		f.edits = append(f.edits, edit{before: before, all: all})
		return
	}
}

// Lines returns the first line of each edit in a text of the file, 0 where it is not certain. The text begins with the line
// first of the file. It returns nil if no line is known.
func (f *File) Lines(text string, first int) []int {
	lines := make([]int, len(f.edits))
	var rows []string
	at, known := 0, false
	for i, e := range f.edits {
		if e.hunk == nil {
			lines[i] = e.lineIn(text)
		} else {
			if rows == nil {
				rows = strings.Split(text, "\n")
			}
			lines[i], at = e.lineAfter(rows, at)
		}
		if lines[i] > 0 {
			lines[i] += first - 1
			known = true
		}
	}
	if !known {
		return nil
	}
	return lines
}

// lineIn returns the line at which the replaced text begins. It is 0 if the text is not there, or several times although one place is replaced.
func (e *edit) lineIn(text string) int {
	at := strings.Index(text, e.before)
	if e.before == "" || at < 0 || (!e.all && strings.Contains(text[at+1:], e.before)) {
		return 0
	}
	return 1 + strings.Count(text[:at], "\n")
}

// lineAfter returns the first line of the hunk in the rows of a text from a place on, 0 if it is not there, and the place after it.
func (e *edit) lineAfter(rows []string, from int) (line, next int) {
	if e.below != "" {
		at := slices.IndexFunc(rows[from:], func(row string) bool { return strings.TrimSpace(row) == e.below })
		if at < 0 {
			return 0, from
		}
		from += at + 1
	}
	if len(e.hunk) == 0 {
		return 0, from
	}
	for at := from; at+len(e.hunk) <= len(rows); at++ {
		if slices.Equal(rows[at:at+len(e.hunk)], e.hunk) {
			return at + 1, at + len(e.hunk)
		}
	}
	return 0, from
}
