package grants

import "github.com/heldcall/heldcall/approvals"

// CheckTerms refuses terms of a grant in a decision that makes none.
func CheckTerms(d *approvals.Decision) error {
	if d.Window != "" {
		if _, err := d.CheckWindow(); err != nil {
			return err
		}
	}
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

// openWindow sets the terms of the trust window that a decision opens.
func openWindow(d *approvals.Decision) error {
	lasts, err := d.CheckWindow()
	if err != nil {
		return err
	}
	end := d.DecidedAt.Add(lasts)
	d.Scope, d.GrantExpiresAt = approvals.GrantSession, &end
	return nil
}
