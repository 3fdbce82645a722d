package effects

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

var rising = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

// risks are those of the kinds of effect whose place does not matter.
var risks = map[approvals.EffectKind]approvals.Risk{
	approvals.EffectNone:      approvals.RiskLow,
	approvals.EffectRead:      approvals.RiskLow,
	approvals.EffectFetch:     approvals.RiskMedium, // the request may carry data out, and the answer instructions in
	approvals.EffectWrite:     approvals.RiskMedium,
	approvals.EffectSend:      approvals.RiskHigh,
	approvals.EffectInstall:   approvals.RiskHigh,
	approvals.EffectCheck:     approvals.RiskMedium,
	approvals.EffectRun:       approvals.RiskHigh,
	approvals.EffectSecret:    approvals.RiskHigh,
	approvals.EffectDestroy:   approvals.RiskHigh,
	approvals.EffectPrivilege: approvals.RiskHigh,
	approvals.EffectUnknown:   approvals.RiskMedium, // it may be any; that it is unknown is on the card
}

// riskOf returns the risk of an effect by its kind and place.
func riskOf(e approvals.Effect) approvals.Risk {
	risk := risks[e.Kind]
	if e.Place == approvals.PlaceOutside {
		switch e.Kind {
		case approvals.EffectRead, approvals.EffectWrite, approvals.EffectDestroy:
			return raised(risk)
		}
	}
	return risk
}

// raised returns the next higher risk.
func raised(risk approvals.Risk) approvals.Risk {
	return rising[min(slices.Index(rising, risk)+1, len(rising)-1)]
}

func higher(a, b approvals.Risk) approvals.Risk {
	return rising[max(slices.Index(rising, a), slices.Index(rising, b), 0)]
}

// Contained reports whether effects are known as nothing but reads and writes in the workspace.
func Contained(list []approvals.Effect) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(e approvals.Effect) bool {
		switch e.Kind {
		case approvals.EffectNone:
			return false
		case approvals.EffectRead, approvals.EffectWrite:
			return e.Place != approvals.PlaceWorkspace
		}
		return true
	})
}
