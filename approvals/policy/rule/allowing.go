package rule

// Proposed is the rule name of verdicts by a rule that [Set.Allowing] has added.
const Proposed = "the proposed rule"

// Allowing returns the set with one more rule, which allows what a pattern covers. It fails if
// the pattern could not be in the allow list of a rule of this policy.
func (p *Set) Allowing(pattern string) (*Set, error) {
	added, err := NewPattern(pattern)
	if err != nil {
		return nil, err
	}
	if err := added.Fits(p.KindsFor(added), true); err != nil {
		return nil, err
	}
	added.Rule, added.Where = &Rule{}, Proposed
	var all []*Pattern
	for _, one := range append(p.Allow.All[:len(p.Allow.All):len(p.Allow.All)], added) {
		own := *one // an index ranks its patterns
		all = append(all, &own)
	}
	next := *p
	next.Allow = NewAllowIndex(all)
	return &next, nil
}
