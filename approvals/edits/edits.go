// Package edits is pure: it finds in the arguments of a call which files it edits, and where in the text of a file each edit
// begins. Policies, which see the files of agents, and turns, which see earlier results, use it for cards.
package edits

import (
	"encoding/json"
	"strings"
)

// The names of arguments in the tools of agents. The inbox has the same names, in present/file.js.
var (
	patchNames   = []string{"patch", "input", "patchText", "diff"}
	pathNames    = []string{"file_path", "filePath", "path", "target_file", "notebook_path", "TargetFile", "absolute_path", "filename"}
	contentNames = []string{"content", "contents", "file_text"}
)

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
