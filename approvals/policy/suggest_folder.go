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

// suggestFolders returns patterns for the folders of the files that a call reads or writes, and for the
// folders above these. No such pattern allows files that may hold secrets.
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
		if above := path.Dir(folder); above != folder && (r.Path.Anchor == "" || strings.Contains(above, "/")) && q.mayOpen(r.Path, above) {
			far = append(far, q.c.Call.Tool+"("+folderPattern(r.Path.Anchor, above)+")")
		}
	}
	return append(near, far...)
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
var systemFolders = strings.Fields("bin boot dev etc lib lib64 proc root run sbin srv sys usr var opt home users library system applications windows programdata")

// mayOpen reports whether a pattern for all files below a folder is suggested: for a tool that writes
// only if the policy asks about files that run later in it, whatever is granted.
func (q *question) mayOpen(file match.Location, folder string) bool {
	lower := match.FoldCase(folder)
	switch {
	case match.GlobProblem(folderPattern(file.Anchor, folder)) != "": // such as a space at its beginning
		return false
	case file.Up > 0 || strings.Contains(folder, "*") || len(folder) > maxPattern || match.Visible(folder) != folder:
		return false
	case (strings.HasPrefix(lower, ".") && folder != ".") || strings.Contains(lower, "/."):
		return false // settings of programs
	case file.Anchor == "":
	case folder == "." || (slices.Contains(systemFolders, match.FirstSegment(lower)) && !inHome(lower)) || strings.HasPrefix(lower, "program files"):
		return false
	}
	return q.c.Tool.RiskOr("") == approvals.RiskLow || !slices.ContainsFunc(call.RunLater(), func(class *call.LaterFiles) bool {
		return !q.asksAbout(folderPattern(file.Anchor, folder), class.Example())
	})
}

// inHome reports whether a folder is below a home folder.
func inHome(lower string) bool {
	first, rest, _ := strings.Cut(lower, "/")
	return (first == "home" || first == "users") && strings.Contains(rest, "/")
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
