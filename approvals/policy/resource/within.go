package resource

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// place finds where the path of a candidate is, and whether it may hold secrets. If the folder of
// the workspace is itself in the list of what may hold secrets, as /root/app is, its files are
// compared by their paths in it.
func (c *ParsedCall) place(r *Candidate) {
	profiles := c.Known.Profiles
	if c.Known.Workspace == nil {
		r.Secret = profiles.secretPath(r.Text, c.IsTree())
		return
	}
	r.Place = c.Known.Workspace.Find(r.Text, profiles.isSensitive)
	if !r.Place.Listed {
		r.Secret = profiles.secretPath(r.Text, c.IsTree())
	}
	for _, l := range r.Place.Forms() {
		if found := profiles.secretPath(l.Body, c.IsTree()); found != "" && r.Secret == "" {
			r.Secret = found
		}
	}
}

// outsideOf returns why a path is not certainly inside the workspace, or "".
func (c *ParsedCall) outsideOf(text string) string {
	place := c.Known.Workspace.Find(text, c.Known.Profiles.isSensitive)
	return place.Outside
}

// Within reports whether a call works in the workspace only: all its paths, or all commands of its
// scripts, are inside.
func (c *ParsedCall) Within() bool {
	switch {
	case len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != "" || c.certain == 0:
		return false
	case c.Kind == Shell:
		return !slices.ContainsFunc(c.Scripts(), func(s *shell.Script) bool {
			return s.NotSimple != "" || slices.ContainsFunc(s.All, func(command *shell.Command) bool { return !c.CommandWithin(command) })
		})
	case c.Kind == Path:
		return !slices.ContainsFunc(c.Resources(), func(r Candidate) bool { return !c.CandidateWithin(&r) })
	}
	return false
}

// CandidateWithin reports whether a path is inside the workspace.
func (c *ParsedCall) CandidateWithin(r *Candidate) bool { return c.noteOutside(r.Place.Outside) }

// Outside returns why a rule for the workspace does not cover the call, as a part of a sentence, or
// "".
func (c *ParsedCall) Outside() string { return c.outside }

// noteOutside keeps the first reason why something is not inside. It reports whether there is none.
func (c *ParsedCall) noteOutside(why string) bool {
	if c.outside == "" {
		c.outside = why
	}
	return why == ""
}

// CommandWithin reports whether every path that a command may name is inside the workspace.
func (c *ParsedCall) CommandWithin(of *shell.Command) bool {
	return c.noteOutside(c.commandOutside(of))
}

func (c *ParsedCall) commandOutside(of *shell.Command) string {
	for _, folder := range c.folders {
		if why := c.outsideOf(folder); why != "" {
			return why
		}
	}
	if slices.Contains(printers, of.Words[0]) {
		return ""
	}
	pattern := c.Known.Programs.SearchPattern(of)
	for i, word := range of.Words {
		if i == 0 || i == pattern {
			continue
		}
		if why := c.wordOutside(of, word); why != "" {
			return why
		}
	}
	return ""
}

// wordOutside returns why a word of a command may be a path that is not inside the workspace, or "".
func (c *ParsedCall) wordOutside(of *shell.Command, word string) string {
	if match.LeadsUp(word) {
		// A shell may be in another folder than its call: after a cd that failed, or one of an
		// earlier call.
		return match.Quote(word) + " leads upwards"
	}
	for text := range pathsIn(word) {
		if text == "" || isDevice(text) || (shell.IsOperand(word) && strings.HasPrefix(text, "-")) {
			continue
		}
		if !strings.Contains(text, "://") && strings.Contains(text, ":") && !strings.HasPrefix(text, "/") {
			text = "./" + text // a revision and a file, which is a part of its own
		}
		if why := c.pathOutside(of, text); why != "" {
			return why
		}
	}
	return ""
}

// pathOutside judges a path from each folder in which the command may run.
func (c *ParsedCall) pathOutside(of *shell.Command, text string) string {
	text = match.JoinFolder(of.Folder, text)
	if len(c.folders) == 0 {
		return c.outsideOf(text)
	}
	for _, folder := range c.folders {
		if why := c.outsideOf(match.JoinFolder(folder, text)); why != "" {
			return why
		}
	}
	return ""
}

// isDevice reports whether a path holds no file.
func isDevice(path string) bool {
	return path == "/dev/null" || path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr"
}
