package approvals

import "time"

// Delegation lets one reviewer decide in the place of another until a time:
// what the groups of From may decide, To may too. What From was given by others
// it does not hand on.
type Delegation struct {
	ID        string    `json:"id"`             // ULID
	From      string    `json:"from"`           // name of a reviewer
	To        string    `json:"to"`             // name of a reviewer
	Until     time.Time `json:"until"`          // UTC
	Note      string    `json:"note,omitempty"` // why
	CreatedBy string    `json:"created_by"`     // reviewer, set by the channel
	// CreatorUser is the same reviewer as principals name them, set by the channel too.
	// It is compared and not kept.
	CreatorUser string     `json:"-"`
	CreatedAt   time.Time  `json:"created_at"` // UTC
	RevokedBy   string     `json:"revoked_by,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
}

// InForce reports whether the delegation is in force.
func (d *Delegation) InForce(now time.Time) bool { return d.RevokedAt == nil && now.Before(d.Until) }

// Standing is what a reviewer has of their own: the groups they are in, and the
// user that agents' principals know them as.
type Standing struct {
	User   string
	Groups []string
}
