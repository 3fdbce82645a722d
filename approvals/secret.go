package approvals

import (
	"errors"
	"time"
)

// ErrUnknownSecret is returned for a secret that is not stored, or was deleted.
var ErrUnknownSecret = errors.New("no such secret")

// Secret is a stored secret without its value. Agents use it by its handle,
// secret://NAME.
type Secret struct {
	Name string `json:"name"`
	// Principal is the only one whose calls may use the value.
	Principal Principal `json:"principal"`
	SessionID string    `json:"session_id,omitempty"` // the only session with the secret; "": all
	CreatedBy string    `json:"created_by"`           // the reviewer
	CreatedAt time.Time `json:"created_at"`           // UTC
	// ExpiresAt is when calls can no longer use the value, UTC. It is masked for another
	// 30 days.
	ExpiresAt time.Time `json:"expires_at"`
}

// SecretPayload is a secret as reviewers write it. The channel sets who stores it.
type SecretPayload struct {
	Name      string     `json:"name"`
	Value     string     `json:"value"`
	Principal Principal  `json:"principal"`
	SessionID string     `json:"session_id,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: in 90 days
}

// By returns the secret of a payload that a reviewer has written.
func (p *SecretPayload) By(reviewer string) Secret {
	one := Secret{Name: p.Name, Principal: p.Principal, SessionID: p.SessionID, CreatedBy: reviewer}
	if p.ExpiresAt != nil {
		one.ExpiresAt = p.ExpiresAt.UTC()
	}
	return one
}
