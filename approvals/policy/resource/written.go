package resource

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Written is a path that a shell command writes, moves or removes.
type Written struct {
	Candidate
	Certain bool // else it may: nothing is known of the command, or not of the whole path
}

// Written returns the paths that the commands of the call write, or may write.
func (c *ParsedCall) Written() []Written {
	if c.written != nil {
		return c.written
	}
	c.written = []Written{}
	for _, use := range c.Uses() {
		for _, path := range use.Paths {
			if path.Access == shell.Reads || (path.Access == shell.Touches && !path.Known) {
				continue
			}
			for text := range pathsIn(path.Text) {
				c.appendWritten(&use, text, path.Access == shell.Writes && path.Known && !path.Glob)
			}
		}
	}
	return c.written
}

func (c *ParsedCall) appendWritten(use *shell.Use, text string, certain bool) {
	folders := c.folders
	if len(folders) == 0 {
		folders = []string{""}
	}
	for _, folder := range folders {
		one := Written{Certain: certain}
		one.Text = match.JoinFolder(folder, match.JoinFolder(use.Folder, text))
		one.Lower = match.FoldCase(one.Text)
		one.Path, one.Problem = match.Locate(one.Text)
		c.place(&one.Candidate)
		c.written = append(c.written, one)
	}
}
