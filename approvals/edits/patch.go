package edits

import "strings"

const (
	beginPatch = "*** Begin Patch"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
	heading    = "@@"
)

// patched returns the files that a patch for apply_patch adds and updates.
func patched(patch string) (files []File) {
	var f *File // that is updated
	for line := range strings.SplitSeq(strings.TrimSpace(patch), "\n") {
		if line == endOfFile || strings.HasPrefix(line, moveTo) {
			continue
		}
		if strings.HasPrefix(line, "*** ") {
			f = nil
			path, isUpdate := strings.CutPrefix(line, updateFile)
			if !isUpdate {
				path, _ = strings.CutPrefix(line, addFile)
			}
			if path = strings.TrimSpace(path); path == strings.TrimSpace(line) || path == "" || len(path) > maxPath || len(files) == maxFiles {
				continue
			}
			files = append(files, File{Path: path, Whole: !isUpdate})
			if isUpdate {
				f = &files[len(files)-1]
			}
			continue
		}
		if f != nil {
			f.take(line)
		}
	}
	return files
}

// take takes a line of a patch that updates the file.
func (f *File) take(line string) {
	below, isHeading := strings.CutPrefix(line, heading)
	if isHeading || len(f.edits) == 0 {
		if len(f.edits) == maxEdits {
			return
		}
		f.edits = append(f.edits, edit{hunk: []string{}, below: strings.TrimSpace(below)})
		if isHeading {
			return
		}
		f.edits[len(f.edits)-1].below = ""
	}
	e := &f.edits[len(f.edits)-1]
	switch {
	case line == "":
		e.hunk = append(e.hunk, "")
	case line[0] == ' ' || line[0] == '-':
		e.hunk = append(e.hunk, line[1:])
	}
}
