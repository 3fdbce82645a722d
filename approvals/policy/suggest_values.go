package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/effects"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// suggestValues returns a pattern for calls of a tool with the same arguments and other numbers and ids, if the tool is
// known by its name alone, and the name states that it only looks something up. All other values are part of the pattern:
// one may choose what the tool does.
func suggestValues(c *call.Reading) []string {
	isRated := c.Tool != nil && (c.Tool.Typed || c.Tool.Risk == approvals.RiskHigh || c.Tool.Risk == approvals.RiskCritical)
	if isRated || c.Call.FreeText || len(c.Whole()) > maxPattern || !onlyLooksUp(c) {
		return nil
	}
	var values []string
	isOpen := false
	for _, member := range match.Members(c.Whole()) {
		if !match.IsPlainName(member.Name) {
			return nil
		}
		value := member.Raw
		if isOtherEachTime(member) {
			value, isOpen = "*", true
		}
		values = append(values, `"`+member.Name+`":`+value)
	}
	text := "{" + strings.Join(values, ",") + "}"
	if !isOpen || !meansItself(strings.ReplaceAll(text, ":*", ":0")) {
		return nil
	}
	return []string{c.Call.Tool + "(" + text + ")"}
}

// onlyLooksUp reports whether the name of a tool states that it changes nothing.
func onlyLooksUp(c *call.Reading) bool {
	list, risk := effects.Of(c)
	return risk == approvals.RiskLow && !slices.ContainsFunc(list, func(e approvals.Effect) bool {
		return e.Kind != approvals.EffectRead && e.Kind != approvals.EffectNone
	})
}

// isOtherEachTime reports whether an argument is a number, or the id of a thing.
func isOtherEachTime(member match.Member) bool {
	name := strings.ToLower(member.Name)
	switch first := member.Raw[0]; {
	case first == '-' || (first >= '0' && first <= '9'):
		return true
	case first == '"':
		return strings.HasSuffix(name, "id") && len(member.Raw) <= 66 && !strings.ContainsAny(member.Raw, "/\\:@ ")
	}
	return false
}
