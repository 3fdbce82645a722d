package policy

import "slices"

// concerns reports whether the rule is about tools with a resource of a kind.
func (r *rule) concerns(k kind) bool {
	return r == nil || len(r.kinds) == 0 || slices.Contains(r.kinds, k)
}
