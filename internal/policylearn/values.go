package policylearn

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// choosing are names of arguments that may choose what a tool does, or on what: their values stay in a pattern.
var choosing = strings.Fields("action api arguments args body cmd code collection command database endpoint entity event field fields file filename filter format func function host input kind " +
	"method mode model name op operation output path payload program query resource schema scope script sql statement table target task to tool tool_name type uri url verb")

// valuePatterns returns, for each tool whose approved calls only look something up and have the same arguments, the pattern
// of those with the values that were equal in all of them, and any for the others.
func (l *Learner) valuePatterns() map[string][]*asked {
	alike := map[string][]*asked{}
	for _, request := range l.asked {
		if request.supports() && onlyLooksUp(&request.verdict) && strings.HasPrefix(request.verdict.Resource, "{") {
			key := request.call.Name
			for _, member := range match.Members(request.verdict.Resource) {
				key += "\x00" + member.Name
			}
			alike[key] = append(alike[key], request)
		}
	}
	patterns := map[string][]*asked{}
	for _, requests := range alike {
		if pattern := equalValues(requests); pattern != "" {
			patterns[pattern] = requests
		}
	}
	return patterns
}

// onlyLooksUp reports whether the name of a tool states that it changes nothing.
func onlyLooksUp(v *policy.Verdict) bool {
	return v.Risk == approvals.RiskLow && !slices.ContainsFunc(v.Effects, func(e approvals.Effect) bool {
		return e.Kind != approvals.EffectRead && e.Kind != approvals.EffectNone
	})
}

// equalValues returns the pattern of calls of a tool with the same arguments, or "" if no value is equal in all, or one that
// is not may choose what the tool does.
func equalValues(requests []*asked) string {
	first := match.Members(requests[0].verdict.Resource)
	values, equal, open := make([]string, len(first)), 0, 0
	for i, member := range first {
		isEqual, isText := true, true
		for _, request := range requests {
			value := match.Members(request.verdict.Resource)[i].Raw
			isEqual = isEqual && value == member.Raw
			isText = isText && value[0] != '{' && value[0] != '['
		}
		switch {
		case !match.IsPlainName(member.Name):
			return ""
		case isEqual:
			values[i], equal = member.Raw, equal+1
		case !isText || slices.Contains(choosing, strings.ToLower(member.Name)):
			return ""
		default:
			values[i], open = "*", open+1
		}
		values[i] = `"` + member.Name + `":` + values[i]
	}
	text := "{" + strings.Join(values, ",") + "}"
	if equal == 0 || open == 0 || match.NewObjectGlob(text) == nil {
		return ""
	}
	return requests[0].call.Name + "(" + text + ")"
}
