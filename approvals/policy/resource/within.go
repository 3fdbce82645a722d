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

// Inside reports whether a path is certainly inside the workspace.
func (c *ParsedCall) Inside(path string) bool {
	place := c.Known.Workspace.Find(path, c.Known.Profiles.isSensitive)
	return place.Inside()
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
	if why := c.pathOutside(of, ""); why != "" {
		return why
	}
	if of.Words[0] == "cd" && slices.Contains(of.Words, "-") {
		return "the folder before the last cd is not known"
	}
	use := c.useOf(of)
	before := 0 // words up to a subcommand
	for i, word := range use.Words {
		if use.Subcommand != "" && strings.HasSuffix(" "+use.Subcommand, " "+word.Text) {
			before = i
			break
		}
	}
	for i := 1; i < before; i++ {
		word := use.Words[i].Text
		if slices.Contains(strings.Fields(use.Subcommand), word) {
			continue
		}
		if why := c.wordOutside(of, word); why != "" {
			return why
		}
	}
	for _, path := range use.Paths {
		if why := c.wordOutside(of, path.Text); why != "" {
			return why
		}
	}
	return ""
}

// useOf describes a command of the call.
func (c *ParsedCall) useOf(of *shell.Command) shell.Use {
	for _, use := range c.Uses() {
		if use.Command == of {
			return use
		}
	}
	use := shell.Use{Command: of} // it starts others
	for _, word := range of.Words[1:] {
		use.Paths = append(use.Paths, shell.PathUse{Word: shell.Word{Text: word}, Access: shell.Touches})
	}
	return use
}

// Uses describes the commands of the call's scripts.
func (c *ParsedCall) Uses() []shell.Use {
	if c.uses == nil {
		c.uses = []shell.Use{}
		for _, script := range c.Scripts() {
			uses, _ := c.Known.Programs.Uses(script)
			c.uses = append(c.uses, uses...)
		}
	}
	return c.uses
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

// pathOutside judges a path from each folder in which the command may run, or that folder.
func (c *ParsedCall) pathOutside(of *shell.Command, text string) string {
	text = match.JoinFolder(of.Folder, text)
	switch {
	case len(c.folders) == 0 && text == "":
		return "" // the agent's own
	case len(c.folders) == 0:
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
