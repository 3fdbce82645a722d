package resource

import "github.com/heldcall/heldcall/approvals/policy/shell"

// Known is what is known of tools and programs: the entries of a policy and the built-in
// tables.
type Known struct {
	Tools    []*Tool // by falling specificity
	Profiles *Profiles
	Programs *shell.Programs
}

// Tool returns what is known of a tool, or nil.
func (k *Known) Tool(name string) *Tool {
	given, known := find(k.Tools, name), k.Profiles.Find(name)
	switch {
	case given == nil:
		return known
	case known == nil:
		return given
	}
	return given.over(known)
}

// find is the most specific entry for a tool, or nil.
func find(tools []*Tool, name string) *Tool {
	for _, t := range tools {
		if t.Names.Match(name) {
			return t
		}
	}
	return nil
}

// KindNames are the kinds as policies name them. A patch is the paths in it.
var KindNames = []string{"plain", "path", "shell", "url", "patch"}
