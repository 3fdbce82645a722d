package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/internal/mask"
)

// silent are readers that only print their words, or what no secret can be in.
var silent = strings.Fields("echo printf seq pwd date uname whoami hostname sleep true false basename dirname uptime")

// scripts adds the effects of shell scripts.
func (f *effectFinder) scripts() {
	for _, e := range f.c.Executions() {
		switch {
		case e.Command.Other:
		case f.more || !f.c.Spend(len(e.Use.Paths)*10):
			f.more = true
		default:
			f.use(e)
		}
	}
	for _, script := range f.c.Scripts() {
		for _, command := range script.All { // its operands, or those of the command that it runs, are what it reads
			if name, _ := programs.Names(command.Words[0]); name == "xargs" {
				f.unknown(name)
			}
		}
		if script.NotSimple != "" {
			f.unknown("")
		}
	}
	if secret := f.c.Secret(); secret != "" {
		f.add(approvals.EffectSecret, secret, "", true)
	}
}

// use adds the effects of one command.
func (f *effectFinder) use(e *call.Execution) {
	u := &e.Use
	switch u.Class {
	case programs.Read:
		f.reads(e)
	case programs.Write, programs.Format:
		f.writes(e)
	case programs.Destroy:
		f.paths(approvals.EffectDestroy, e, "", false)
		if len(u.Paths) == 0 {
			f.add(approvals.EffectDestroy, firstWords(u), "", false)
		}
	case programs.Check:
		f.add(approvals.EffectCheck, nameOf(u), "", false)
	case programs.Run, programs.Project:
		f.add(approvals.EffectRun, firstWords(u), "", false)
	case programs.Fetch:
		f.add(approvals.EffectFetch, host(u), "", true)
	case programs.Send, programs.Publish:
		f.add(approvals.EffectSend, host(u), "", false)
	case programs.Install:
		f.add(approvals.EffectInstall, firstWords(u), "", false)
	case programs.Privilege:
		f.add(approvals.EffectPrivilege, nameOf(u), "", false)
	default:
		f.unknown(firstWords(u))
	}
}

// reads adds the effects of a command that only reads.
func (f *effectFinder) reads(e *call.Execution) {
	u := &e.Use
	switch {
	case slices.Contains(silent, u.Program):
		f.add(approvals.EffectNone, "", "", true)
	case u.Operands == programs.NoPaths: // of the machine, or of a service on it
		f.add(approvals.EffectRead, nameOf(u), "", true)
	default:
		f.paths(approvals.EffectRead, e, ".", true)
	}
}

// writes adds the effects of a command that writes. Git keeps the former state, and may run hooks,
// which are code of the project.
func (f *effectFinder) writes(e *call.Execution) {
	u := &e.Use
	if u.Program != "git" {
		f.paths(approvals.EffectWrite, e, ".", false)
		return
	}
	here := shell.Word{Text: ".", Known: true}
	f.add(approvals.EffectWrite, inFolder(u.Folder, "."), e.Place(here), true)
	for _, path := range u.Paths { // words of messages and names of branches among them
		f.touches(approvals.EffectWrite, e, path.Word, true)
	}
	f.add(approvals.EffectCheck, "hooks of "+nameOf(u), "", false)
}

// paths adds the effects of a command on its paths; on its folder if it has none.
func (f *effectFinder) paths(kind approvals.EffectKind, e *call.Execution, without string, reversible bool) {
	uses := e.Use.Paths
	if len(uses) == 0 && without != "" {
		uses = []shell.PathUse{{Word: shell.Word{Text: without, Known: true}, Access: shell.Writes}}
	}
	for _, path := range uses {
		switch path.Access {
		case shell.Reads:
			f.add(approvals.EffectRead, inFolder(e.Use.Folder, path.Text), e.Place(path.Word), true)
		case shell.Touches:
			f.touches(kind, e, path.Word, reversible)
		default:
			f.changes(kind, inFolder(e.Use.Folder, path.Text), e.Place(path.Word), reversible)
		}
	}
}

// touches adds the effect of a command on what may be a path: only outside the workspace does it matter.
func (f *effectFinder) touches(kind approvals.EffectKind, e *call.Execution, word shell.Word, reversible bool) {
	if place := e.Place(word); f.c.Known.Workspace.HasFolders() && place != approvals.PlaceWorkspace {
		f.changes(kind, inFolder(e.Use.Folder, word.Text), place, reversible)
	}
}

// inFolder returns a path as a reviewer reads it: from the folder that cd has changed to.
func inFolder(folder, text string) string {
	if text == "." && folder != "" {
		return folder
	}
	return match.JoinFolder(folder, text)
}

// maxWords is how many words of a command a target has.
const maxWords = 3

// nameOf returns the name of a command's program, with its subcommand.
func nameOf(u *shell.Use) string { return strings.TrimSpace(u.Program + " " + u.Subcommand) }

// firstWords returns the beginning of a command.
func firstWords(u *shell.Use) string {
	words := make([]string, 0, maxWords)
	for _, word := range u.Words[:min(len(u.Words), maxWords)] {
		words = append(words, word.Text)
	}
	if u.Words[0].Known {
		words[0] = u.Program
	}
	return strings.Join(words, " ")
}

// host returns the host of the first URL of a command, else the command's name. The handle of a
// secret does not count as a URL.
func host(u *shell.Use) string {
	for _, word := range u.Words[1:] {
		if _, _, paths := strings.Cut(word.Text, "://"); paths && word.Known && !strings.HasPrefix(word.Text, mask.Scheme) {
			if a, problem := match.ParseURL(word.Text); problem == "" {
				return a.Host
			}
		}
	}
	return nameOf(u)
}
