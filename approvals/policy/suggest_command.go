package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// exactOnly are programs and subcommands that no wider pattern is suggested for: their operands are other folders, names
// and arguments of scripts of a project, or things whose environment they show.
var exactOnly = []string{"cd", "npm", "pnpm", "yarn", "bun", "lsof", "docker inspect", "docker info"}

// lookUps are the commands that ask another computer and whose last operand may be any: it names a thing of the same place.
var lookUps = []string{
	"gh issue view", "gh pr view", "gh pr diff", "gh pr checks", "gh run view", "brew info", "brew deps",
}

// widerCommands returns patterns for operands and harmless options of a reader or check, with paths in the folder of the
// call, and of a reader first in that of its files.
func widerCommands(c *call.Reading, e *call.Execution) []string {
	t, words := c.Known.Programs, e.Command.Words
	n, ok := opensFrom(t, &e.Use)
	if !ok {
		return nil
	}
	for ; n <= len(words); n++ {
		begin := words[:n:n]
		if other, _ := t.ClassOf(append(begin, "x"), nil); other.Class != e.Use.Class {
			return nil // it depends on the operand
		}
		var patterns []string
		for _, folder := range foldersOf(c, e) {
			text := e.Command.Suggest(t, n, folder)
			if text != "" && len(text) <= maxPattern && match.Visible(text) == text && e.Below(folder) {
				patterns = append(patterns, text)
			}
		}
		if len(patterns) > 0 {
			return patterns
		}
	}
	return nil
}

// opensFrom returns how many words of a command a wider pattern has at least. It reports false if there is none.
func opensFrom(t *shell.Programs, u *shell.Use) (n int, ok bool) {
	words := u.Command.Words
	name := strings.TrimSpace(u.Program + " " + u.Subcommand)
	switch {
	case slices.Contains(exactOnly, u.Program) || slices.Contains(exactOnly, name) || strings.Contains(words[0], "/") || slices.Contains(words, "--"):
		return 0, false
	case u.Class == programs.Fetch:
		return len(words) - 1, slices.Contains(lookUps, name) && t.MayOpenLast(u.Command)
	}
	return u.Named, u.Class == programs.Read || u.Class == programs.Check
}

// listers are readers whose operands are folders.
var listers = []string{"ls", "find", "tree", "du", "rg", "ag", "fd"}

// foldersOf returns the folders in which a command may stay: for a reader the one that holds all its files, then that of
// the call.
func foldersOf(c *call.Reading, e *call.Execution) []string {
	own := []string{"."}
	if e.Use.Class != programs.Read || e.Use.Program == "git" || e.Use.Operands == programs.NoPaths {
		return own
	}
	holds, ok := commonFolder(c, e)
	switch {
	case !ok || holds.Body == "" || !mayOpenFolder(holds, holds.Body):
		return own
	case holds.Anchor == "/":
		return []string{"/" + holds.Body}
	case holds.Anchor != "":
		return own
	}
	return []string{"./" + holds.Body, "."}
}

// commonFolder returns the folder that holds all files of a reader, from the workspace's folder if they are in it.
func commonFolder(c *call.Reading, e *call.Execution) (holds match.Location, ok bool) {
	for _, used := range e.Use.Paths {
		if used.Access != shell.Reads {
			continue
		}
		l := match.LocationOf(match.JoinFolder(e.Command.Folder, used.Text))
		if place := c.Places.Place(used.Text); e.Command.Folder == "" && place.Inside() {
			l = place.Below[0]
		}
		if !slices.Contains(listers, e.Use.Program) {
			l.Body = above(l.Body)
		}
		if !ok {
			holds, ok = l, true
		}
		for !l.Within(holds) && holds.Body != "" {
			holds.Body = above(holds.Body)
		}
	}
	return holds, ok
}

// above returns the folder of a path without anchor, "" for the anchor itself.
func above(body string) string { return strings.TrimPrefix(path.Dir("/"+body), "/") }
