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
	// Principal is whose calls may use the value, and in whose requests it is masked. Each part is a
	// name, [EveryName], or "": agents without one.
	Principal Principal `json:"principal"`
	SessionID string    `json:"session_id,omitempty"` // the only session with the secret; "": all
	CreatedBy string    `json:"created_by"`           // the reviewer
	CreatedAt time.Time `json:"created_at"`           // UTC
	// ExpiresAt is when calls can no longer use the value, UTC. It is masked for another
	// 30 days.
	ExpiresAt time.Time `json:"expires_at"`
}

// EveryName in a part of the principal of a secret matches all names, and none.
const EveryName = "*"

// IsFor reports whether calls of a principal may use the secret.
func (s *Secret) IsFor(who Principal) bool {
	matches := func(stated, name string) bool { return stated == name || stated == EveryName }
	return matches(s.Principal.Tenant, who.Tenant) && matches(s.Principal.User, who.User) && matches(s.Principal.Agent, who.Agent)
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
