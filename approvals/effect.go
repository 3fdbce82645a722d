package approvals

import (
	"fmt"
	"slices"
	"strings"
)

// EffectKind is a kind of effect of a call.
type EffectKind string

// The kinds of effect.
const (
	EffectNone      EffectKind = "none"      // it changes nothing and reads nothing of the machine, such as a note of the agent to itself
	EffectRead      EffectKind = "read"      // files or data
	EffectWrite     EffectKind = "write"     // files or data
	EffectDestroy   EffectKind = "destroy"   // deletes or discards
	EffectFetch     EffectKind = "fetch"     // reads from another machine, which sees the request
	EffectSend      EffectKind = "send"      // gives data to another machine, or changes something there
	EffectInstall   EffectKind = "install"   // packages, whose code may run
	EffectCheck     EffectKind = "check"     // runs the project's own code: builds, tests, linters, hooks
	EffectRun       EffectKind = "run"       // other code than the call shows
	EffectPrivilege EffectKind = "privilege" // acts with other rights than the agent's
	EffectSecret    EffectKind = "secret"    // uses, or may read, a secret
	EffectUnknown   EffectKind = "unknown"   // may be any of these
)

// Place is where the target of an effect is.
type Place string

// The places of targets. The zero value means that the place is not known, or that the target has none.
const (
	PlaceWorkspace Place = "workspace" // a path in a folder of the policy's workspace
	PlaceOutside   Place = "outside"   // a path outside of all of them
)

// Effect is one thing that a call does, as far as it is known from tables without running it.
type Effect struct {
	Kind   EffectKind `json:"kind"`
	Target string     `json:"target,omitempty"` // a path, a host, a program, the name of a secret; at most some hundred bytes
	Place  Place      `json:"place,omitempty"`
	// Later is the class of a written file that programs run later by themselves, such as hook, of an [EffectRun]: see
	// "Files that run later" in docs/policy.md.
	Later string `json:"later,omitempty"`
	// Reversible is true if the effect changes nothing, or if a person can take it back with what the call, the program or
	// the project keeps, such as the text before an edit. Irreversible is true if it is known that no person can. It is
	// unknown where both are false: it depends on what the call does not show.
	Reversible   bool `json:"reversible"`
	Irreversible bool `json:"irreversible,omitempty"`
}

type effectVerb struct {
	kind  EffectKind
	verb  string
	later bool // of effects with a class of files that run later
}

func (v effectVerb) isOf(e *Effect) bool { return e.Kind == v.kind && (e.Later != "") == v.later }

// effectVerbs are the words for the kinds of effect, the most dangerous kind first.
var effectVerbs = []effectVerb{
	{kind: EffectPrivilege, verb: "uses other rights:"},
	{kind: EffectDestroy, verb: "destroys:"},
	{kind: EffectSecret, verb: "may use secrets:"},
	{kind: EffectSend, verb: "sends:"},
	{kind: EffectInstall, verb: "installs:"},
	{kind: EffectRun, verb: "runs other code:"},
	{kind: EffectRun, verb: "writes what runs later:", later: true},
	{kind: EffectUnknown, verb: "unknown effects:"},
	{kind: EffectCheck, verb: "runs the project’s code:"},
	{kind: EffectWrite, verb: "writes"},
	{kind: EffectFetch, verb: "fetches:"},
	{kind: EffectRead, verb: "reads"},
	{kind: EffectNone, verb: "changes nothing"},
}

// maxEffectTargets is how many targets of a kind [EffectsText] names.
const maxEffectTargets = 3

// EffectsText returns effects as one sentence without a full stop, the most dangerous first, such as
// "destroys: build outside the workspace (cannot be undone), reads a.go". It is "" for none.
func EffectsText(effects []Effect) string {
	var parts []string
	effects = slices.Clone(effects)
	for i := range effects { // of a newer version
		if !isKnown(effects[i].Kind) {
			effects[i].Kind, effects[i].Later = EffectUnknown, ""
		}
	}
	for _, word := range effectVerbs {
		for _, place := range []Place{PlaceOutside, "", PlaceWorkspace} {
			var targets []string
			found, final := false, false
			for _, e := range effects {
				if !word.isOf(&e) || e.Place != place {
					continue
				}
				found, final = true, final || (e.Irreversible && (e.Kind == EffectDestroy || e.Kind == EffectSend))
				target := e.Target
				if e.Later != "" {
					target += " (" + e.Later + ")"
				}
				if target != "" && !slices.Contains(targets, target) {
					targets = append(targets, target)
				}
			}
			if found {
				parts = append(parts, effectPart(word.verb, targets, place, final))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// isKnown reports whether a kind is one of those of this version.
func isKnown(kind EffectKind) bool {
	return slices.ContainsFunc(effectVerbs, func(word effectVerb) bool { return word.kind == kind })
}

func effectPart(verb string, targets []string, place Place, final bool) string {
	text := strings.TrimSuffix(verb, ":")
	if len(targets) > 0 {
		text = verb + " " + strings.Join(targets[:min(len(targets), maxEffectTargets)], ", ")
	}
	if more := len(targets) - maxEffectTargets; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch place {
	case PlaceWorkspace:
		text += " in the workspace"
	case PlaceOutside:
		text += " outside the workspace"
	}
	if final {
		text += " (cannot be undone)"
	}
	return text
}
