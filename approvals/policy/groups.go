package policy

import "slices"

// Groups are the groups that rules name, as their reviewers or to escalate to, each with
// one of the rules that do.
func (p *ruleSet) Groups() map[string]string {
	groups := map[string]string{}
	for _, list := range []*index{p.ask, p.limited.ask, p.limited.allow} {
		if list == nil {
			continue
		}
		for _, pattern := range list.all {
			for _, group := range slices.Concat(pattern.rule.reviewers, pattern.rule.escalate.To) {
				if groups[group] == "" {
					groups[group] = pattern.where
				}
			}
		}
	}
	return groups
}
