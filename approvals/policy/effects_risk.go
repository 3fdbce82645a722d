package policy

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// contained reports whether a call is known to do nothing but read and write in the workspace.
func contained(effects []approvals.Effect) bool {
	return len(effects) > 0 && !slices.ContainsFunc(effects, func(e approvals.Effect) bool {
		switch e.Kind {
		case approvals.EffectNone:
			return false
		case approvals.EffectRead, approvals.EffectWrite:
			return e.Place != approvals.PlaceWorkspace
		}
		return true
	})
}

// risks are those of the effects whose place does not matter.
var risks = map[approvals.EffectKind]approvals.Risk{
	approvals.EffectNone:      approvals.RiskLow,
	approvals.EffectFetch:     approvals.RiskMedium, // the request may carry data out, and the answer instructions in
	approvals.EffectSend:      approvals.RiskHigh,
	approvals.EffectInstall:   approvals.RiskHigh,
	approvals.EffectCheck:     approvals.RiskMedium,
	approvals.EffectRun:       approvals.RiskHigh,
	approvals.EffectSecret:    approvals.RiskHigh,
	approvals.EffectPrivilege: approvals.RiskCritical,
}

// riskOfEffects returns the highest risk of effects. That of an unknown one is unknown, at least medium.
func riskOfEffects(effects []approvals.Effect, unknown approvals.Risk) approvals.Risk {
	highest := approvals.RiskLow
	for _, e := range effects {
		if risk := riskOfEffect(e, unknown); slices.Index(rising, risk) > slices.Index(rising, highest) {
			highest = risk
		}
	}
	return highest
}

var rising = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

func riskOfEffect(e approvals.Effect, unknown approvals.Risk) approvals.Risk {
	switch e.Kind {
	case approvals.EffectRead:
		if e.Place == approvals.PlaceOutside {
			return approvals.RiskMedium
		}
		return approvals.RiskLow
	case approvals.EffectWrite:
		if e.Place == approvals.PlaceWorkspace {
			return approvals.RiskMedium
		}
		return approvals.RiskHigh
	case approvals.EffectDestroy:
		if e.Place == approvals.PlaceOutside {
			return approvals.RiskCritical
		}
		return approvals.RiskHigh
	}
	if risk, ok := risks[e.Kind]; ok {
		return risk
	}
	if slices.Index(rising, unknown) < slices.Index(rising, approvals.RiskMedium) {
		return approvals.RiskMedium
	}
	return unknown
}
