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
	t, u := c.Known.Programs, &e.Use
	words := u.Command.Words
	name := strings.TrimSpace(u.Program + " " + u.Subcommand)
	n := u.Named
	switch {
	case slices.Contains(exactOnly, u.Program) || slices.Contains(exactOnly, name) || strings.Contains(words[0], "/") || slices.Contains(words, "--"):
		return nil
	case u.Class == programs.Fetch && slices.Contains(lookUps, name) && t.MayOpenLast(u.Command):
		n = len(words) - 1
	case u.Class != programs.Read && u.Class != programs.Check:
		return nil
	}
	for ; n <= len(words); n++ {
		begin := words[:n:n]
		if other, _ := t.ClassOf(append(begin, "x"), nil); other.Class != u.Class {
			return nil // it depends on the operand
		}
		var patterns []string
		for _, folder := range foldersOf(c, e) {
			text := u.Command.Suggest(t, n, folder)
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

// listers are readers whose operands are folders.
var listers = []string{"ls", "find", "tree", "du", "rg", "ag", "fd"}

// foldersOf returns the folders in which a command may stay: for a reader the one that holds all its files, then that of
// the call.
func foldersOf(c *call.Reading, e *call.Execution) []string {
	if e.Use.Class != programs.Read || e.Use.Program == "git" || e.Use.Operands == programs.NoPaths {
		return []string{"."}
	}
	var holds *match.Location
	for _, used := range e.Use.Paths {
		if used.Access != shell.Reads {
			continue
		}
		l := match.LocationOf(match.JoinFolder(e.Command.Folder, used.Text))
		if place := c.Places.Place(used.Text); e.Command.Folder == "" && place.Inside() {
			l = place.Below[0]
		}
		if !slices.Contains(listers, e.Use.Program) {
			l.Body = strings.TrimPrefix(path.Dir("/"+l.Body), "/")
		}
		if holds == nil {
			holds = &l
		}
		for !l.Within(*holds) && holds.Body != "" {
			holds.Body = strings.TrimPrefix(path.Dir("/"+holds.Body), "/")
		}
	}
	switch {
	case holds == nil || holds.Body == "" || !mayOpenFolder(*holds, holds.Body):
		return []string{"."}
	case holds.Anchor == "/":
		return []string{"/" + holds.Body}
	case holds.Anchor != "":
		return []string{"."}
	}
	return []string{"./" + holds.Body, "."}
}
