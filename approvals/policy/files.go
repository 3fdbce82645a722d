package policy

import (
	"cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/edits"
)

// maxFileTexts is how many bytes of files are read for one call.
const maxFileTexts = 4 << 20

// files returns the facts about the files of the workspace that the call writes with these arguments, as they are now.
func (e *evaluation) files(arguments string) (list []approvals.File) {
	if e.c.Ambiguity != "" || len(e.c.Doubts) > 0 {
		return nil
	}
	read := 0
	for _, f := range edits.Of(cmp.Or(arguments, e.c.Call.Arguments)) {
		secret, seen := e.c.Places.IsSeen(f.Path)
		there, known := e.c.Known.Workspace.IsThere(f.Path)
		if !seen || !known {
			continue
		}
		file := approvals.File{Path: f.Path, Exists: there, Source: approvals.FromWorkspace}
		if there && !secret && read < maxFileTexts {
			if text, ok := e.c.Known.Workspace.ReadText(f.Path); ok {
				read += len(text)
				file.Lines = f.Lines(text, 1)
				if f.Whole && len(text) <= approvals.MaxFileText {
					file.Text = text
				}
			}
		}
		list = append(list, file)
	}
	return list
}
