package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// selects reports whether a filter of names or paths, as tools take it for globs,
// selects what the list of secrets names. A filter for all names or for an
// extension does not, unless that extension is in the list.
func (p *profiles) selects(filter string) bool {
	return match.FilterSelects(filter, p.sensitive, p.isSensitive)
}
