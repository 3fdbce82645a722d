// Package effects knows no rules and no verdicts: it has the tables of what programs and tools do, and finds by them what a
// call does, see [Of].
//
// It reads no call itself: the words of commands, their folders, places and input are those of package call. What no table
// has is unknown. Effects are for people. No verdict depends on them but that of a trust window, which they only narrow.
//
// The tables are in tables: per program the options that take values, and the calls. A call is a key such as
// "push -f|--force =2+": words of the subcommand, options, options that are missing (!-n), and how many operands follow
// (=2 is two, =2+ two or more); commas separate calls that do the same, * is any text, ~ any call. The first call that fits
// holds. Its value lists effects: "destroy 2+/path; no high" is a kind, where its targets are (see subject.find), how they
// are read (see formOf), whether it can be undone (yes, no, unknown), and a risk where it is not that of the kind. A target
// with ? may be missing, and then there is no such effect.
package effects

import (
	"slices"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

const (
	// maxEffects is the largest number of effects of one call. A call with more has unknown ones.
	maxEffects = 32
	// maxTarget is the most bytes of a target.
	maxTarget = 200
	// maxDepth is how many commands may be in each other.
	maxDepth = 4
)

// Of returns the effects of a call, at least one, each once, and its risk: the highest of them.
func Of(c *call.Reading) ([]approvals.Effect, approvals.Risk) {
	f := &finder{c: c, list: make([]approvals.Effect, 0, 2), risk: approvals.RiskLow, steps: maxSteps}
	switch {
	case len(c.Doubts) > 0, c.Call.Unoffered != "", c.Ambiguity != "" && len(c.Resources()) == 0:
		f.unknown(c.Call.Tool)
	case c.Kind == call.Shell:
		f.scripts()
	default:
		f.tool()
	}
	if c.Ambiguity != "" || c.Partial != "" {
		f.unknown(c.Call.Tool)
	}
	if c.Filter != "" {
		f.secret(c.Filter)
	}
	for _, name := range c.Call.Secrets {
		f.secret(name)
	}
	list := f.finish()
	return list, f.risk
}

// finder collects the effects of one call.
type finder struct {
	c    *call.Reading
	list []approvals.Effect
	risk approvals.Risk
	more bool // there were too many

	steps int // left: see spend
}

// maxSteps bounds the work for the effects of one call, each step about as long as the look at a word. A call that needs
// more has unknown effects. They are none of the steps of [call.Reading.Spend]: rules are compared all the same.
const maxSteps = 6_000

// spend counts steps, and reports whether there are enough.
func (f *finder) spend(steps int) bool {
	f.steps -= steps
	f.more = f.more || f.steps < 0
	return f.steps >= 0
}

// finish returns the effects. That nothing changes is only one where there is no other.
func (f *finder) finish() []approvals.Effect {
	others := slices.DeleteFunc(slices.Clone(f.list), func(e approvals.Effect) bool { return e.Kind == approvals.EffectNone })
	if len(others) > 0 {
		f.list = others
	}
	if slices.ContainsFunc(f.list, func(e approvals.Effect) bool { return e.Kind == approvals.EffectPrivilege }) {
		f.risk = higher(raised(f.risk), approvals.RiskHigh)
	}
	if slices.ContainsFunc(f.list, func(e approvals.Effect) bool { return e.Irreversible }) {
		for i := range f.list { // people decide about the call: it cannot be undone
			f.list[i].Reversible = f.list[i].Reversible && !changes(f.list[i].Kind)
		}
	}
	if len(f.list) == 0 || f.more {
		f.risk = higher(f.risk, riskOf(approvals.Effect{Kind: approvals.EffectUnknown}))
		f.list = append(f.list, approvals.Effect{Kind: approvals.EffectUnknown})
	}
	return f.list
}

// changes reports whether effects of a kind change something.
func changes(kind approvals.EffectKind) bool {
	return slices.Contains([]approvals.EffectKind{approvals.EffectWrite, approvals.EffectDestroy, approvals.EffectSend, approvals.EffectInstall}, kind)
}

// add adds an effect with its risk, "" for that of its kind and place.
func (f *finder) add(e approvals.Effect, undo Undo, risk approvals.Risk) {
	e.Target = visibleTarget(e.Target)
	switch e.Kind {
	case approvals.EffectNone, approvals.EffectRead, approvals.EffectFetch, approvals.EffectSecret:
		undo = Reversible
	}
	e.Reversible, e.Irreversible = undo == Reversible, undo == Irreversible
	if risk == "" {
		risk = riskOf(e)
	}
	if e.Kind != approvals.EffectPrivilege { // see finish
		f.risk = higher(f.risk, risk)
	}
	at := slices.IndexFunc(f.list, func(other approvals.Effect) bool {
		return other.Kind == e.Kind && other.Target == e.Target && other.Place == e.Place && other.Later == e.Later
	})
	switch {
	case at >= 0: // the graver of both
		f.list[at].Reversible = f.list[at].Reversible && e.Reversible
		f.list[at].Irreversible = f.list[at].Irreversible || e.Irreversible
	case len(f.list) == maxEffects:
		f.more = true
	default:
		f.list = append(f.list, e)
	}
}

// visibleTarget returns a target as people read it: what only a running shell knows is …, and a text of which nothing else
// is known is left out.
func visibleTarget(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == 0 {
			return '…'
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
	if strings.Trim(text, "… /") == "" && strings.Contains(text, "…") {
		return ""
	}
	return match.Visible(match.Shorten(text, maxTarget))
}

func (f *finder) unknown(target string) {
	f.add(approvals.Effect{Kind: approvals.EffectUnknown, Target: target}, "", "")
}

func (f *finder) secret(target string) {
	f.add(approvals.Effect{Kind: approvals.EffectSecret, Target: target}, Reversible, "")
}

// file adds an effect on a file or folder. A written file that programs run later by themselves is one more
// effect.
func (f *finder) file(e approvals.Effect, undo Undo, risk approvals.Risk) {
	f.add(e, undo, risk)
	if e.Kind != approvals.EffectWrite && e.Kind != approvals.EffectDestroy {
		return
	}
	if class := call.ClassOfLater(match.LocationOf(e.Target)); class != nil {
		f.add(approvals.Effect{Kind: approvals.EffectRun, Target: e.Target, Later: class.Name}, "", "")
	}
}

// scripts adds the effects of shell scripts.
func (f *finder) scripts() {
	remote, stated := f.innerCommands()
	var before *subject
	for _, e := range f.c.Executions() {
		switch {
		case e.Command.Other, stated[e.Command]:
			continue
		case f.more || !f.spend(len(e.Use.Words)*10):
			continue
		}
		s := f.subjectOf(e, remote[e.Command])
		if e.Command.Piped() {
			s.before = before
		}
		f.command(s)
		if !e.Command.Redirect {
			before = s
		}
	}
	for _, script := range f.c.Scripts() {
		if script.Problem != "" || (script.NotSimple != "" && f.hasUnknownWord()) {
			f.unknown("")
		}
	}
	if secret := f.c.Secret(); secret != "" && f.isStated(secret) {
		f.secret(secret)
	}
	if len(f.list) == 0 { // it sets variables
		f.add(approvals.Effect{Kind: approvals.EffectNone}, "", "")
	}
}

// hasUnknownWord reports whether a command has a word that may be anything, also an option.
func (f *finder) hasUnknownWord() bool {
	return slices.ContainsFunc(f.c.Executions(), func(e *call.Execution) bool {
		return slices.ContainsFunc(e.Use.Words, func(word shell.Word) bool { return !word.Known && word.Text == "…" })
	})
}

// isStated reports whether what may be a secret is what an effect is about, and no word that only sounds like one.
func (f *finder) isStated(secret string) bool {
	return slices.ContainsFunc(f.list, func(e approvals.Effect) bool {
		isSame := e.Target == secret || strings.HasSuffix(e.Target, "/"+secret) || strings.HasSuffix(secret, "/"+e.Target)
		return e.Kind == approvals.EffectUnknown || e.Kind == approvals.EffectNone || (isSame && e.Target != "" && e.Kind != approvals.EffectSecret)
	}) && !strings.HasPrefix(secret, "-")
}

// innerCommands returns the commands that run on other machines or in containers, and those that find runs, whose effects
// are those of find.
func (f *finder) innerCommands() (remote, stated map[*shell.Command]bool) {
	remote, stated = map[*shell.Command]bool{}, map[*shell.Command]bool{}
	var mark func(c *shell.Command, as map[*shell.Command]bool)
	mark = func(c *shell.Command, as map[*shell.Command]bool) {
		for _, inner := range c.Inner() {
			as[inner] = true
			mark(inner, as)
		}
	}
	for _, script := range f.c.Scripts() {
		for _, c := range script.All {
			switch name := baseName(c.Words[0]); {
			case elsewhere[name]:
				mark(c, remote)
			case name == "find" || name == "gfind":
				mark(c, stated)
			}
		}
	}
	return remote, stated
}

// elsewhere are programs that run the commands in their operands on another machine, or in a container.
var elsewhere = map[string]bool{"ssh": true, "docker": true, "podman": true, "kubectl": true, "mosh": true, "gcloud": true}

func (f *finder) subjectOf(e *call.Execution, remote bool) *subject {
	s := &subject{f: f, execution: e, own: true, remote: remote, words: e.Use.Words, input: e.Command.InputText()}
	if len(s.words) == 0 { // of a command that only starts others
		for _, word := range e.Command.Words {
			s.words = append(s.words, shell.Word{Text: word, Known: !strings.Contains(word, "\x00")})
		}
	}
	return s
}
