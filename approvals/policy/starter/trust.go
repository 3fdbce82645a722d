package starter

import (
	"errors"
	"path/filepath"
	"strings"
)

// Trust returns lines for people on the calls that a policy lets pass unasked.
func Trust(o Options) string {
	if len(o.Workspace) == 0 {
		return "Readers and a few commands that look around pass. With --workspace DIR edits and checks of a project pass too.\n"
	}
	text := "In " + strings.Join(o.Workspace, ", ") + " reading, editing and commits pass"
	if o.AskChecks {
		text += ". You are asked about the project's own checks.\n"
	} else {
		text += ", and the project's own checks and programs: builds, tests, linters, scripts.\n" +
			"Edits and checks together run any code that an agent writes, with all rights of its user. `heldcall policy init --checks ask` writes one that asks about checks.\n" +
			"After a run has read the web, you are asked about its checks.\n"
	}
	if o.inWorkspace() {
		text += "The policy is in the workspace itself: heldcall takes a change of it only at a start or on SIGHUP. Better keep it elsewhere.\n"
	}
	return text
}

// inWorkspace reports whether the file is in the workspace.
func (o *Options) inWorkspace() bool {
	file, err := filepath.Abs(o.File)
	for _, folder := range o.Workspace {
		whole, bad := filepath.Abs(folder)
		if relative, none := filepath.Rel(whole, file); o.File != "" && errors.Join(err, bad, none) == nil && filepath.IsLocal(relative) {
			return true
		}
	}
	return false
}
