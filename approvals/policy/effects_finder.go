package policy

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

const (
	// maxEffects is the largest number of effects of one call. A call with more has unknown ones.
	maxEffects = 32
	// maxTarget is the most bytes of a target.
	maxTarget = 200
)

// finder collects the effects of one call.
type effectFinder struct {
	c     *call.Reading
	found []approvals.Effect
	more  bool // there were too many
}

func (f *effectFinder) add(kind approvals.EffectKind, target string, place approvals.Place, reversible bool) {
	effect := approvals.Effect{Kind: kind, Target: match.Visible(match.Shorten(target, maxTarget)), Place: place, Reversible: reversible}
	switch {
	case slices.Contains(f.found, effect):
	case len(f.found) == maxEffects:
		f.more = true
	default:
		f.found = append(f.found, effect)
	}
}

func (f *effectFinder) unknown(target string) { f.add(approvals.EffectUnknown, target, "", false) }

// changes adds an effect on a file or folder. A written file that other programs run without being called is one more
// effect.
func (f *effectFinder) changes(kind approvals.EffectKind, text string, place approvals.Place, reversible bool) {
	f.add(kind, text, place, reversible || kind == approvals.EffectRead)
	if kind != approvals.EffectRead && call.ClassOfLater(match.LocationOf(text)) != nil {
		f.add(approvals.EffectRun, text, "", false)
	}
}
