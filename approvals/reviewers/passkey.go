package reviewers

import (
	"encoding/json"
	"time"
)

// Passkeys are those that one reviewer has registered. They are one record, so that replicas
// change them one after the other.
type Passkeys struct {
	Reviewer string    `json:"reviewer"` // name
	Keys     []Passkey `json:"keys"`     // the oldest first
	// Used are the challenges that were answered in the last minutes.
	Used []UsedChallenge `json:"used"`
	// Write is random: no two writes of a record are equal.
	Write string `json:"write"`
}

// Passkey is a credential of WebAuthn with which a reviewer confirms what they decide.
type Passkey struct {
	ID         string          `json:"id"` // of the credential, base64url
	Name       string          `json:"name"`
	CreatedAt  time.Time       `json:"created_at"`             // UTC
	LastUsedAt *time.Time      `json:"last_used_at,omitempty"` // UTC; nil: never
	Credential json.RawMessage `json:"credential"`             // public key and counter, as the library of WebAuthn writes them
}

// UsedChallenge is a challenge that cannot be answered again.
type UsedChallenge struct {
	Nonce   string    `json:"nonce"`
	Expires time.Time `json:"expires"` // UTC; afterwards it is not answered anyway
}
