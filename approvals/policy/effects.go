package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/effects"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// effects returns the effects of the call, and its risk for people: that of its effects, raised by the one that the policy
// gives the tool.
func (e *evaluation) effects() ([]approvals.Effect, approvals.Risk) {
	list, risk := effects.Of(e.c)
	if t := e.c.Tool; t != nil && !t.Builtin {
		risk = rule.Strictest(risk, t.Risk)
	}
	return list, risk
}

// contained reports whether a call is known to do nothing but read and write in the workspace: by its effects, and by the
// classes of all of its commands, each of whose paths is in the workspace. Git may run hooks, and xargs reads names that
// the call does not show. The name of a tool that nothing is known of may state that it changes nothing: that is no proof.
func contained(c *call.Reading, list []approvals.Effect) bool {
	isSilent := func(e approvals.Effect) bool { return e.Kind == approvals.EffectNone }
	switch {
	case !effects.Contained(list), c.Secret() != "", c.Kind != call.Shell && slices.ContainsFunc(list, isSilent):
		return false
	}
	for _, script := range c.Scripts() {
		if script.NotSimple != "" || slices.ContainsFunc(script.All, func(command *shell.Command) bool { return !containsCommand(c.Execution(command)) }) {
			return false
		}
	}
	return true
}

// silent are readers without paths that only print their words, or what no secret can be in.
var silent = strings.Fields("echo printf seq pwd date uname whoami hostname sleep true false basename dirname uptime")

func containsCommand(e *call.Execution) bool {
	if name, _ := programs.Names(e.Command.Words[0]); name == "xargs" {
		return false
	}
	use := &e.Use
	switch {
	case len(use.Words) == 0: // it only starts others
		return true
	case use.Class == programs.Write, use.Class == programs.Format:
		if use.Program == "git" {
			return false
		}
	case use.Class != programs.Read, use.Operands == programs.NoPaths && !slices.Contains(silent, use.Program):
		return false
	}
	return !slices.ContainsFunc(use.Paths, func(path shell.PathUse) bool {
		return path.Access != shell.Touches && e.Place(path.Word) != approvals.PlaceWorkspace
	})
}
