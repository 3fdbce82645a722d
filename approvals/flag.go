package approvals

import "strings"

// FoldFlag returns the fact that a flag of a request warns of, one sentence, and the rules that may match because of
// it. A flag has each rule on a line of its own after the fact; places with little room show the fact only.
func FoldFlag(flag string) (fact string, rules []string) {
	fact, more, folded := strings.Cut(flag, "\n")
	if folded {
		rules = strings.Split(more, "\n")
	}
	return fact, rules
}
