package rule

import "slices"

// Groups are the groups that rules name, as their reviewers or to escalate to, each with
// one of the rules that do.
func (p *Set) Groups() map[string]string {
	groups := map[string]string{}
	for _, list := range []*Index{p.Ask, p.Limited.Ask, p.Limited.Allow} {
		if list == nil {
			continue
		}
		for _, pattern := range list.All {
			for _, group := range slices.Concat(pattern.Rule.Reviewers, pattern.Rule.Escalate.To) {
				if groups[group] == "" {
					groups[group] = pattern.Where
				}
			}
		}
	}
	return groups
}
