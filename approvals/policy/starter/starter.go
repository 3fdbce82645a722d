// Package starter writes policies to start from, and has the texts that they extend.
package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Options are what a policy trusts.
type Options struct {
	Command   string   // that makes it, for its first lines
	File      string   // where it is written, "": unknown
	Workspace []string // folders; none: edits and checks are asked about
	Agents    []string // that have a profile; none: all
	Business  bool     // look-ups by tools of one's own pass
	AskChecks bool     // the project's own checks are asked about
}

// Policy returns the text of a policy that extends the newest version. It returns an error for a folder that can be no
// workspace.
func Policy(o Options) ([]byte, error) {
	folders, err := o.folders()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What agents may do unasked, and what they may never do. Everything else is a question to people.\n"+
		"# `heldcall policy show` prints it with the rules that it extends. Made by: %s\nlanguage: 2\n"+
		"extends: %s # this version never changes: `heldcall policy diff` shows what a newer one changes\n", o.Command, Newest())
	for _, key := range []struct {
		name, about string
		values      []string
	}{
		{"without", "the project's own checks and programs need approval", o.leftOut()},
		{"workspace", "where agents work: reading, editing and commits pass there", folders},
		{"profiles", "the agents whose tools are known", o.Agents},
	} {
		if len(key.values) == 0 {
			continue
		}
		quoted, err := json.Marshal(key.values) // a list of JSON is one of YAML
		if err != nil {
			return nil, fmt.Errorf("write the policy: %w", err)
		}
		fmt.Fprintf(&b, "%s: %s # %s\n", key.name, quoted, key.about)
	}
	if o.Business {
		b.WriteString(businessTools)
	}
	b.WriteString("rules: # your own, beside those of the starter: deny wins over ask, and ask over allow\n  # - allow: [\"shell(make staging)\"]\n")
	if o.Business {
		b.WriteString(businessRules)
	}
	return []byte(b.String()), nil
}

// What a policy for tools of one's own has: the look-ups that pass, and the names that only seem to be look-ups.
const (
	businessTools = `tools: # of your own: low risk passes
  get_*:    {risk: low}
  list_*:   {risk: low}
  search_*: {risk: low}
  find_*:   {risk: low}
  think:    {risk: low}
`
	businessRules = `  - ask: ["get_*secret*", "get_*password*", "get_*token*", "get_*credential*", "list_*secret*", "search_*secret*", "find_*secret*",
          "get_and_*", "get_or_*", "list_and_*", "find_and_*", "find_or_*", "search_and_*", "*_and_replace*", "search_replace*", "find_replace*"]
    reason: The name of the tool says that it does more than look something up.
`
)

// leftOut returns the parts of the starter that the policy leaves out.
func (o *Options) leftOut() []string {
	if o.AskChecks {
		return []string{Checks}
	}
	return nil
}

// folders returns the folders of the workspace, relative to the file where they are below its
// folder.
func (o *Options) folders() ([]string, error) {
	var found []string
	base, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	for _, text := range o.Workspace {
		folder, err := workspace.NewFolder(text, base)
		if err != nil {
			return nil, fmt.Errorf("the workspace: %w", err)
		}
		whole := folder.Path()
		if file, err := filepath.Abs(o.File); o.File != "" && err == nil {
			if relative, err := filepath.Rel(filepath.Dir(file), whole); err == nil && filepath.IsLocal(relative) {
				whole = relative
			}
		}
		found = append(found, filepath.ToSlash(whole))
	}
	return found, nil
}
