// Package edits is pure: it finds in the arguments of a call which files it edits, and where in the text of a file each edit
// begins. Policies, which see the files of agents, and turns, which see earlier results, use it for cards.
package edits

import (
	"encoding/json"
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

// The names of arguments in the tools of agents. The inbox has the same names, in present/file.js.
var (
	patchNames   = []string{"patch", "input", "patchText", "diff"}
	pathNames    = []string{"file_path", "filePath", "path", "target_file", "notebook_path", "TargetFile", "absolute_path", "filename"}
	contentNames = []string{"content", "contents", "file_text"}
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

// Of returns the files that a call writes by its arguments, at most 32. It returns none if the arguments are in no known form.
func Of(arguments string) []File {
	if strings.HasPrefix(strings.TrimSpace(arguments), beginPatch) { // of a tool with free text
		return patched(arguments)
	}
	var members map[string]any
	if json.Unmarshal([]byte(arguments), &members) != nil {
		return nil
	}
	if patch, ok := textOf(members, patchNames); ok && strings.HasPrefix(strings.TrimSpace(patch), beginPatch) {
		return patched(patch)
	}
	path, ok := textOf(members, pathNames)
	if !ok || path == "" || len(path) > maxPath {
		return nil
	}
	f := File{Path: path}
	if list, ok := members["edits"].([]any); ok {
		for _, item := range list {
			one, _ := item.(map[string]any)
			f.replace(one)
		}
	} else {
		f.replace(members)
	}
	if _, ok := textOf(members, contentNames); ok && len(f.edits) == 0 {
		f.Whole = true
	}
	if !f.Whole && len(f.edits) == 0 {
		return nil
	}
	return []File{f}
}

// textOf returns the first of some members that is a string.
func textOf(members map[string]any, names []string) (text string, ok bool) {
	for _, name := range names {
		if text, ok = members[name].(string); ok {
			return text, true
		}
	}
	return "", false
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

// lineIn returns the line at which the replaced text begins, 0 if it is not there, or at several places of which it replaces one.
func (e *edit) lineIn(text string) int {
	at := strings.Index(text, e.before)
	if e.before == "" || at < 0 || (!e.all && strings.Contains(text[at+1:], e.before)) {
		return 0
	}
	return 1 + strings.Count(text[:at], "\n")
}
