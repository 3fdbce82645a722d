// Package authenticator is a browser with a passkey, for tests (WebAuthn, ES256).
package authenticator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Authenticator has one passkey, and the page that uses it.
type Authenticator struct {
	Origin     string // of the page
	Party      string // the id of the relying party to which it answers
	Unverified bool   // it does not verify the person who uses it
	Counter    uint32 // of uses
	Frozen     bool   // the counter does not grow, as in a copy

	id  []byte
	key *ecdsa.PrivateKey
}

// New returns one with a fresh key, on a page of an origin.
func New(origin, party string) (*Authenticator, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a passkey: %w", err)
	}
	return &Authenticator{Origin: origin, Party: party, id: []byte(rand.Text()), key: key}, nil
}

// options are those of navigator.credentials, as far as a passkey needs them.
type options struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
	} `json:"publicKey"`
}

func (a *Authenticator) clientData(typ string, asked []byte) ([]byte, error) {
	var o options
	if err := json.Unmarshal(asked, &o); err != nil || o.PublicKey.Challenge == "" {
		return nil, fmt.Errorf("the options have no challenge: %s (%w)", asked, err)
	}
	return json.Marshal(map[string]any{"type": typ, "challenge": o.PublicKey.Challenge, "origin": a.Origin, "crossOrigin": false})
}

// data is the authenticator data, with flags besides that of the presence of a person.
func (a *Authenticator) data(flags byte) []byte {
	party := sha256.Sum256([]byte(a.Party))
	if flags |= 1; !a.Unverified {
		flags |= 4
	}
	if !a.Frozen {
		a.Counter++
	}
	return binary.BigEndian.AppendUint32(append(party[:], flags), a.Counter)
}

// Create answers the options of navigator.credentials.create, without an attestation.
func (a *Authenticator) Create(asked []byte) (json.RawMessage, error) {
	client, err := a.clientData("webauthn.create", asked)
	if err != nil {
		return nil, err
	}
	point, err := a.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	// COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y}
	key := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...)
	key = append(append(key, 0x22, 0x58, 32), point[33:]...)
	data := a.data(0x40)
	data = append(data, make([]byte, 16)...) // of no known model
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), key...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"), byte(len(data)>>8), byte(len(data)))
	return a.credential(map[string]any{"clientDataJSON": encode(client), "attestationObject": encode(append(object, data...))})
}

// Get answers the options of navigator.credentials.get.
func (a *Authenticator) Get(asked []byte) (json.RawMessage, error) {
	client, err := a.clientData("webauthn.get", asked)
	if err != nil {
		return nil, err
	}
	data, hash := a.data(0), sha256.Sum256(client)
	signed := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, signed[:])
	if err != nil {
		return nil, fmt.Errorf("sign a challenge: %w", err)
	}
	return a.credential(map[string]any{"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature)})
}

func (a *Authenticator) credential(response map[string]any) (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"id": a.ID(), "rawId": a.ID(), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{},
	})
}

// ID is the id of the passkey.
func (a *Authenticator) ID() string { return encode(a.id) }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
