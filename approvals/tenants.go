package approvals

import "slices"

// TenantScope is the tenants whose records a reviewer sees and decides. An empty one has all tenants, and the records
// that belong to none. Any other has only the records of exactly one of its tenants, so none for all tenants ("*").
type TenantScope []string

// Limited reports whether the scope leaves any tenant out.
func (s TenantScope) Limited() bool { return len(s) > 0 }

// Has reports whether the scope has a tenant.
func (s TenantScope) Has(tenant string) bool { return !s.Limited() || slices.Contains(s, tenant) }
