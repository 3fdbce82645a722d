package grants

import "github.com/heldcall/heldcall/approvals"

// CheckTerms refuses terms of a grant in a decision that makes none.
func CheckTerms(d *approvals.Decision) error {
	if d.Action == approvals.ActionAllowAlways || d.Action == approvals.ActionDenyAlways {
		return nil
	}
	for _, one := range []struct {
		field string
		given bool
	}{
		{"patterns", len(d.Patterns) > 0},
		{"grant_expires_at", d.GrantExpiresAt != nil},
		{"scope", d.Scope != ""},
		{"template", d.Template != ""},
	} {
		if one.given {
			return approvals.Invalid(one.field, "only allow_always and deny_always take it, not %q", d.Action)
		}
	}
	return nil
}
