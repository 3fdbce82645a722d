package approvals

import "time"

// Delegation lets one reviewer decide in the place of another until a time: To may
// decide what the groups of From may decide. Delegations are not transitive.
type Delegation struct {
	ID        string    `json:"id"`             // ULID
	From      string    `json:"from"`           // name of a reviewer
	To        string    `json:"to"`             // name of a reviewer
	Until     time.Time `json:"until"`          // UTC
	Note      string    `json:"note,omitempty"` // why
	CreatedBy string    `json:"created_by"`     // reviewer, set by the channel
	// CreatorUser is the user of the same person in principals, set by the channel. It is
	// not recorded.
	CreatorUser string     `json:"-"`
	CreatedAt   time.Time  `json:"created_at"` // UTC
	RevokedBy   string     `json:"revoked_by,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
}

// InForce reports whether the delegation is in force.
func (d *Delegation) InForce(now time.Time) bool { return d.RevokedAt == nil && now.Before(d.Until) }

// ReviewerProfile has the groups and the tenants of a reviewer, and the user that is the same person in
// principals of agents.
type ReviewerProfile struct {
	User    string
	Groups  []string
	Tenants TenantScope
}
