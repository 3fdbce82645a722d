package policy

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// suggestFolders returns patterns for the folders of the files that a call reads or writes, and, in the agent's folder or a
// workspace, for the folders above these. No such pattern allows files that may hold secrets.
func (q *question) suggestFolders() []string {
	if q.c.Secret() != "" {
		return nil
	}
	var near, far []string
	for _, r := range q.c.Resources() {
		folder := path.Dir(r.Path.Body)
		if q.mayOpen(r.Path, folder) {
			near = append(near, q.c.Call.Tool+"("+folderPattern(r.Path.Anchor, folder)+")")
		}
		above := path.Dir(folder)
		if above != folder && q.isOwn(&r, above) && q.mayOpen(r.Path, above) {
			far = append(far, q.c.Call.Tool+"("+folderPattern(r.Path.Anchor, above)+")")
		}
	}
	return append(near, far...)
}

// isOwn reports whether a folder above a file is the agent's own or in the workspace.
func (q *question) isOwn(r *call.Candidate, above string) bool {
	if r.Path.Anchor == "" {
		return true
	}
	place := q.c.Places.Place(strings.TrimSuffix(folderPattern(r.Path.Anchor, above), "/**"))
	return place.Inside()
}

func folderPattern(anchor, folder string) string {
	switch {
	case anchor == "" && folder == ".":
		return "./**"
	case anchor == "":
		return folder + "/**"
	case anchor == "/":
		return "/" + folder + "/**"
	}
	return anchor + "/" + folder + "/**"
}

// systemFolders are folders, in lower case, in which no project is.
var systemFolders = strings.Fields("bin boot dev etc lib lib64 proc root run sbin srv sys usr var opt home users library system applications windows programdata private volumes mnt media snap nix")

// homeFolders are folders of a home folder, in lower case, whose files belong to programs.
var homeFolders = strings.Fields("library appdata bin go applications snap desktop documents downloads public")

// mayOpen reports whether a pattern for all files below a folder is suggested: for a tool that writes
// only if the policy asks about files that run later in it, whatever is granted.
func (q *question) mayOpen(file match.Location, folder string) bool {
	if !mayOpenFolder(file, folder) {
		return false
	}
	return q.c.Tool.RiskOr("") == approvals.RiskLow || !slices.ContainsFunc(call.RunLater(), func(class *call.LaterFiles) bool {
		return !q.asksAbout(folderPattern(file.Anchor, folder), class.Example())
	})
}

// mayOpenFolder reports whether a folder may be one of a project.
func mayOpenFolder(file match.Location, folder string) bool {
	lower := match.FoldCase(folder)
	switch {
	case file.Up > 0 || !isUsual(file.Anchor, folder):
		return false
	case (strings.HasPrefix(lower, ".") && folder != ".") || strings.Contains(lower, "/."):
		return false // settings of programs
	case file.Anchor == "":
		return true
	case strings.HasPrefix(file.Anchor, "~"):
		return folder != "." && isOfProject(lower)
	case folder == "." || strings.HasPrefix(lower, "program files"):
		return false
	}
	first, rest, _ := strings.Cut(lower, "/")
	if first == "home" || first == "users" {
		_, below, inHome := strings.Cut(rest, "/")
		return inHome && isOfProject(below)
	}
	return !slices.Contains(systemFolders, first) && lower != "tmp"
}

// isUsual reports whether a folder can be written as a pattern.
func isUsual(anchor, folder string) bool {
	return match.GlobProblem(folderPattern(anchor, folder)) == "" && // such as a space at its beginning
		!strings.Contains(folder, "*") && len(folder) <= maxPattern && match.Visible(folder) == folder
}

// isOfProject reports whether a folder in a home folder is neither one of programs, nor one of all kinds of files.
func isOfProject(lower string) bool {
	first, rest, _ := strings.Cut(lower, "/")
	return first != "" && (!slices.Contains(homeFolders, first) || (rest != "" && slices.Contains([]string{"desktop", "documents", "downloads"}, first)))
}

// asksAbout reports whether the policy denies or asks about a file below a folder, whatever is
// granted.
func (q *question) asksAbout(pattern, name string) bool {
	like := q.c.Call
	text := strings.TrimSuffix(pattern, "**") + name
	if q.c.Tool.Patch {
		text = "*** Begin Patch\n*** Add File: " + text + "\n+x\n*** End Patch"
	}
	if like.Arguments = text; !like.FreeText {
		var value any = text
		for _, field := range slices.Backward(q.c.Tool.Fields[0]) {
			value = map[string]any{field: value}
		}
		arguments, err := json.Marshal(value)
		if err != nil {
			return false
		}
		like.Arguments = string(arguments)
	}
	e := &evaluation{policy: q.e.policy, c: call.Read(like, &q.e.policy.rules.Known, parseRules{q.e.policy})}
	return e.findDeny().match != match.No || e.c.Secret() != "" ||
		slices.ContainsFunc(e.findAsks(q.e.policy.rules.Ask), func(p *rule.Pattern) bool { return !p.Rule.GrantOverrides })
}
