package call

import (
	"path"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Where heldcall sees the agent's files, a call is also compared with the list by what it reaches: by links, by globs, and
// by reading the files below a folder.

// notSeen is what counts as a secret where there is more to look at than heldcall looks at.
const notSeen = "more files than heldcall looks at"

// reached looks for listed files that one call reaches.
type reached struct {
	known *Known
	look  *workspace.Look
}

// byPath returns the listed file that a path leads to by links, or that a glob selects, or "".
func (r *reached) byPath(text string) string {
	switch w := r.known.Workspace; {
	case !w.Sees() || len(text) > maxPath:
	case match.HasGlob(text):
		for _, selected := range w.Expand(text, r.look) {
			if file := r.byFile(selected, true); file != "" {
				return file
			}
		}
		return r.beyond()
	default:
		return r.byFile(w.Absolute(text), false)
	}
	return ""
}

// byFile returns the file that a path leads to, if it is listed; of a path that was found, also the path itself.
func (r *reached) byFile(path string, found bool) string {
	target := r.known.Workspace.Target(path)
	switch {
	case target == "":
		return ""
	case found && r.lists(path, true):
		return path
	case r.lists(target, found):
		return target
	}
	return ""
}

// lists reports whether a file is in the list. One that was found, and not named, is not if it is code and only its name
// speaks of secrets.
func (r *reached) lists(path string, found bool) bool {
	if found && isGitConfig(path) {
		return holdsKey(path)
	}
	return slices.ContainsFunc(r.known.Workspace.Locations(path), func(l match.Location) bool { return r.known.Profiles.isSecretFile(l, found) })
}

// roots returns the files and folders that are there under a path or a glob, without links.
func (r *reached) roots(text string) (targets []string) {
	paths := []string{text}
	if match.HasGlob(text) {
		paths = r.known.Workspace.Expand(text, r.look)
	}
	for _, path := range paths {
		if target := r.known.Workspace.Target(path); target != "" {
			targets = append(targets, target)
		}
	}
	return targets
}

// below returns a listed file that is read below a folder, or "".
func (r *reached) below(root string, tree workspace.Tree) (secret string) {
	r.known.Workspace.Walk(root, tree, r.look, func(path string, link bool) bool {
		switch {
		case r.lists(path, true):
			secret = path
		case link:
			secret = r.byFile(path, true)
		}
		return secret == ""
	})
	if secret != "" {
		return secret
	}
	return r.beyond()
}

// beyond is what counts as reached beyond the limit of the look.
func (r *reached) beyond() string {
	if r.look.Exhausted() {
		return notSeen
	}
	return ""
}

// lookAtPaths finds the secrets that the paths of a call lead to.
func (c *Reading) lookAtPaths() {
	if c.Kind != Path || !c.Known.Workspace.Sees() {
		return
	}
	for i := range c.Candidates {
		r := &c.Candidates[i]
		if r.Secret != "" {
			continue
		}
		if r.Secret = c.Places.reached.byPath(r.Text); r.Secret != "" || !c.IsTree() || c.readsNamesOnly() {
			continue
		}
		for _, root := range c.Places.reached.roots(r.Text) {
			if r.Secret == "" {
				r.Secret = c.Places.reached.below(root, workspace.Tree{Hidden: true, Links: !searchesLines(c.Call.Tool), Only: c.onlyNames()})
			}
		}
	}
}

// readsNamesOnly reports whether a search shows only the names of files.
func (c *Reading) readsNamesOnly() bool { return strings.HasSuffix(c.Call.Tool, "search_files") }

// searchesLines reports whether a tool searches as grep and rg do, which read no links that they meet.
func searchesLines(tool string) bool { return strings.Contains(strings.ToLower(tool), "grep") }

// onlyNames are the names that the filters of a search select; none: all.
func (c *Reading) onlyNames() []string {
	var names []string
	members := match.Members(match.OrEmptyObject(c.Call.Arguments))
	for _, field := range c.Tool.Below {
		for _, v := range match.ValuesAt(members, []string{field}) {
			alternatives, ok := match.Alternatives(v.Text)
			several := strings.ContainsAny(v.Text, ", ") && !strings.Contains(v.Text, "{")
			if v.Kind != '"' || !ok || several || strings.HasPrefix(v.Text, "!") {
				return nil
			}
			for _, glob := range alternatives {
				names = append(names, match.LastSegment(glob))
			}
		}
	}
	return names
}

// namers are programs that show no contents of the files that they are given.
var namers = []string{"ls", "stat", "du", "wc", "chmod", "chown", "touch", "mkdir", "rmdir", "rm", "basename", "dirname", "realpath", "readlink", "tree", "test", "[", "cd"}

// reachedSecret returns the listed file that a command reaches, and the index of the word by which it does, or "".
func (c *Reading) reachedSecret(of *shell.Command) (secret string, word int) {
	if name := path.Base(of.Words[0]); !c.Known.Workspace.Sees() || len(of.Words) == 1 || slices.Contains(printers, name) {
		return "", 0
	}
	pattern := c.Known.Programs.SearchPattern(of)
	if secret, word = c.reachedByWords(of, pattern); secret != "" {
		return secret, word
	}
	reads := c.Known.Programs.Table.Searches(of.Words) && !slices.Contains(of.Words, "--files") // which only lists them
	lists := c.Known.Programs.Searches(of) || runsOnFound(of)
	if !reads && !(lists && c.readsListed(of)) {
		return "", 0
	}
	return c.reachedBelow(of, pattern)
}

// reachedByWords is reachedSecret for the paths and globs among the words, without the word that is searched for.
func (c *Reading) reachedByWords(of *shell.Command, pattern int) (secret string, word int) {
	if slices.Contains(namers, path.Base(of.Words[0])) {
		return "", 0
	}
	for i, word := range of.Words[:min(len(of.Words), maxSecretWords+1)] {
		if i == 0 || i == pattern {
			continue
		}
		for text := range pathsIn(word) {
			if secret := c.reachedFrom(of, text); secret != "" {
				return secret, i
			}
		}
	}
	return "", 0
}

// reachedFrom is [reached.byPath] from each folder in which a command may run.
func (c *Reading) reachedFrom(of *shell.Command, text string) string {
	if text == "" || strings.HasPrefix(text, "-") || strings.Contains(text, "://") {
		return ""
	}
	for _, path := range c.Places.from(match.JoinFolder(of.Folder, text)) {
		if secret := c.Places.reached.byPath(path); secret != "" {
			return secret
		}
	}
	return ""
}

// readsListed reports whether a command of the call may read the files that another one lists.
func (c *Reading) readsListed(lister *shell.Command) bool {
	passing := []string{"xargs", "find", "fd", "head", "tail", "sort", "uniq"}
	return c.AnyScript(func(s *shell.Script) bool {
		return slices.ContainsFunc(s.All, func(command *shell.Command) bool {
			name := path.Base(command.Words[0])
			return command != lister && !command.Redirect && !slices.Contains(passing, name) && !slices.Contains(namers, name) && !slices.Contains(printers, name)
		})
	})
}

// runsOnFound reports whether a command runs another one on the files that it finds.
func runsOnFound(of *shell.Command) bool {
	runs := map[string][]string{"find": {"-exec", "-execdir", "-ok", "-okdir"}, "fd": {"-x", "-X", "--exec", "--exec-batch"}}[path.Base(of.Words[0])]
	return slices.ContainsFunc(of.Words, func(word string) bool { return slices.Contains(runs, word) })
}

// reachedBelow returns the listed file that a command reads below its folders, or "".
func (c *Reading) reachedBelow(of *shell.Command, pattern int) (secret string, word int) {
	reading := readingOf(of)
	exists := false
	below := func(text string) string {
		for _, path := range c.Places.from(match.JoinFolder(of.Folder, text)) {
			for _, root := range c.Places.reached.roots(path) {
				exists = true
				if secret := c.Places.reached.below(root, reading.tree); secret != "" {
					return secret
				}
			}
		}
		return ""
	}
	for _, i := range reading.operands {
		if i == pattern {
			continue
		}
		if secret = below(of.Words[i]); secret != "" {
			return secret, i
		}
	}
	if exists || !reading.here {
		return "", 0
	}
	return below(""), len(of.Words) - 1
}
