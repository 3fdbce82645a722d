package passkeys

import (
	"context"
	"encoding/json"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Listed are the passkeys of a reviewer, and where they can be used.
type Listed struct {
	Origin   string `json:"origin"`             // only pages of it can use passkeys
	Unusable string `json:"unusable,omitempty"` // why none can be used there
	Items    []Item `json:"items"`              // the oldest first
}

// Item is a passkey without its key.
type Item struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
}

func itemOf(k *reviewers.Passkey) Item { return Item{k.ID, k.Name, k.CreatedAt, k.LastUsedAt} }

// BrowserOptions are the options of navigator.credentials, in JSON.
type BrowserOptions struct {
	PublicKey json.RawMessage `json:"publicKey"`
}

// Named is a passkey that is to be created.
type Named struct {
	Name string `json:"name"`
}

// Change is what a passkey is to confirm, one of both.
type Change struct {
	Add    *Registration `json:"add,omitempty"`
	Revoke string        `json:"revoke,omitempty"` // an id
}

// Registration is a passkey that a browser has created.
type Registration struct {
	Name       string          `json:"name"`
	Credential json.RawMessage `json:"credential"` // as the browser returns it: PublicKeyCredential.toJSON
	// Assertion is that of a passkey which the reviewer has already, for a challenge of
	// [Passkeys.ChallengeToChange]. The first passkey needs none.
	Assertion json.RawMessage `json:"assertion,omitempty"`
}

// Revocation confirms that a passkey is revoked.
type Revocation struct {
	Assertion json.RawMessage `json:"assertion"`
}

// List returns the passkeys of a reviewer.
func (p *Passkeys) List(ctx context.Context, reviewer string) (Listed, error) {
	all, _, err := p.store.ReadPasskeys(ctx, reviewer)
	list := Listed{Items: []Item{}}
	var refusal error
	if list.Origin, refusal = p.Origin(); refusal != nil {
		list.Unusable = refusal.Error()
	}
	for i := range all.Keys {
		list.Items = append(list.Items, itemOf(&all.Keys[i]))
	}
	return list, err
}
