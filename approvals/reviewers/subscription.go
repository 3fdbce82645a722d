package reviewers

import (
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// maxEndpoint is the longest address of a subscription, in bytes.
const maxEndpoint = 2048

// Subscription is a browser that a reviewer has registered for notifications by Web Push
// (RFC 8030). Endpoint and keys are secrets of the browser and its push service.
type Subscription struct {
	ID        string    `json:"id"`               // follows from the endpoint: see [NewSubscription]
	Reviewer  string    `json:"reviewer"`         // name
	Signed    *SignedIn `json:"signed,omitempty"` // nil: they did not sign in
	Endpoint  string    `json:"endpoint"`         // URL at the push service
	P256DH    string    `json:"p256dh"`           // public key of the browser, base64url
	Auth      string    `json:"auth"`             // secret shared with the browser, base64url
	CreatedAt time.Time `json:"created_at"`
}

// SignedIn is the reviewer at their last sign-in, and the end of its validity.
type SignedIn struct {
	Who   Reviewer  `json:"who"`
	Until time.Time `json:"until"` // UTC
	// Under identifies the configuration that gave them their rights. They may have none
	// under another.
	Under string `json:"under,omitempty"`
}

// NewSubscription returns a subscription with the values of a browser, or an error that names
// a wrong one. It does not check whether heldcall may send to the endpoint.
func NewSubscription(reviewer, endpoint, p256dh, auth string, now time.Time) (Subscription, error) {
	key, err := decodeKey(p256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return Subscription{}, errors.New("keys.p256dh is not an uncompressed point of P-256 in base64url")
	}
	if secret, err := decodeKey(auth); err != nil || len(secret) != 16 {
		return Subscription{}, errors.New("keys.auth is not 16 bytes in base64url")
	}
	if len(endpoint) > maxEndpoint {
		return Subscription{}, errors.New("endpoint is longer than any push service's")
	}
	sum := sha256.Sum256([]byte(endpoint))
	return Subscription{
		ID: hex.EncodeToString(sum[:16]), Reviewer: reviewer, Endpoint: endpoint, P256DH: trimKey(p256dh), Auth: trimKey(auth), CreatedAt: now.UTC(),
	}, nil
}

// decodeKey decodes a key of a browser.
func decodeKey(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(trimKey(text))
}

func trimKey(text string) string { return strings.TrimRight(text, "=") }
