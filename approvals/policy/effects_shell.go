package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/internal/mask"
)

// silent are readers that only print their words, or what no secret can be in.
var silent = strings.Fields("echo printf seq pwd date uname whoami hostname sleep true false basename dirname uptime")

// scripts adds the effects of shell scripts.
func (f *effectFinder) scripts() {
	for _, u := range f.c.Places.Uses() {
		f.use(&u)
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
func (f *effectFinder) use(u *shell.Use) {
	switch u.Class {
	case programs.Read:
		f.reads(u)
	case programs.Write, programs.Format:
		f.writes(u)
	case programs.Destroy:
		f.paths(approvals.EffectDestroy, u, "", false)
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
func (f *effectFinder) reads(u *shell.Use) {
	entry, _ := f.c.Known.Programs.ClassOf(u.Command.Words, nil)
	switch {
	case slices.Contains(silent, u.Program):
		f.add(approvals.EffectNone, "", "", true)
	case entry.Operands == programs.NoPaths: // of the machine, or of a service on it
		f.add(approvals.EffectRead, nameOf(u), "", true)
	default:
		f.paths(approvals.EffectRead, u, ".", true)
	}
}

// writes adds the effects of a command that writes. Git keeps the former state, and may run hooks,
// which are code of the project.
func (f *effectFinder) writes(u *shell.Use) {
	if u.Program != "git" {
		f.paths(approvals.EffectWrite, u, ".", false)
		return
	}
	u.Paths = slices.Clone(u.Paths)
	for i := range u.Paths { // words of messages and names of branches among them
		u.Paths[i].Access = shell.Touches
	}
	here := shell.Word{Text: ".", Known: true}
	f.add(approvals.EffectWrite, inFolder(u.Folder, "."), f.placeOf(u, here), true)
	f.paths(approvals.EffectWrite, u, "", true)
	f.add(approvals.EffectCheck, "hooks of "+nameOf(u), "", false)
}

// paths adds the effects of a command on its paths; on its folder if it has none.
func (f *effectFinder) paths(kind approvals.EffectKind, u *shell.Use, without string, reversible bool) {
	uses := u.Paths
	if len(uses) == 0 && without != "" {
		uses = []shell.PathUse{{Word: shell.Word{Text: without, Known: true}, Access: shell.Writes}}
	}
	for _, path := range uses {
		does := kind
		if path.Access == shell.Reads {
			does = approvals.EffectRead
		}
		place := f.placeOf(u, path.Word)
		if path.Access == shell.Touches && (f.c.Known.Workspace == nil || place == approvals.PlaceWorkspace) {
			continue // the value of an option that may be a path
		}
		text := inFolder(u.Folder, path.Text)
		f.add(does, text, place, reversible || does == approvals.EffectRead)
		if l := match.LocationOf(text); does != approvals.EffectRead && match.Lists(runByOthers(), l) {
			f.add(approvals.EffectRun, text, "", false)
		}
	}
}

// inFolder returns a path as a reviewer reads it: from the folder that cd has changed to.
func inFolder(folder, text string) string {
	if text == "." && folder != "" {
		return folder
	}
	return match.JoinFolder(folder, text)
}

// placeOf returns the place of a path of a command. A cd before it may fail, so the path must be in
// the workspace with its folder and without.
func (f *effectFinder) placeOf(u *shell.Use, word shell.Word) approvals.Place {
	if !word.Known {
		return ""
	}
	var places []approvals.Place
	for _, folder := range []string{u.Folder, ""} {
		text := match.JoinFolder(f.workdir(), match.JoinFolder(folder, word.Text))
		l, problem := match.Locate(text)
		places = append(places, f.place(text, l, problem))
	}
	if places[0] != places[1] {
		return ""
	}
	return places[0]
}

// workdir returns the folder in which a call runs its command, or "" for the agent's own.
func (f *effectFinder) workdir() string {
	for _, field := range f.c.Tool.Workdir {
		if text, ok := f.c.Args()[field[0]].(string); ok && len(field) == 1 {
			return text
		}
	}
	return ""
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
