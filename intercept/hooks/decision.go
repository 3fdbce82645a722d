package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// MediaType is the type of an answer that heldcall's own command reads, in place of the form of the client: an allowed
// call is nothing at all in the form of one.
const MediaType = "application/vnd.heldcall.hook+json"

// The headers and the paths of hooks on the port of agents.
const (
	HeaderNonce    = "X-Heldcall-Nonce"    // that an answer to the command repeats
	HeaderDeadline = "X-Heldcall-Deadline" // seconds until the agent needs an answer
	HeaderKeyID    = "X-Heldcall-Key-Id"   // of the key with which the command has signed, in place of the key
	HeaderSigned   = "X-Heldcall-Signed"   // the signature: see [Sign]
	Path           = "/heldcall/v1/hooks/" // and the client
	ProofPath      = "/heldcall/v1/proof"
)

// decision is an [Answer] as the command reads it.
type decision struct {
	Nonce     string `json:"nonce"`
	Decision  string `json:"decision"`
	Arguments string `json:"arguments"`
	Reason    string `json:"reason"`
	Proof     string `json:"proof"`
}

const (
	allowed = "allow"
	refused = "deny"
)

// Encode returns the answer for the command that has sent a nonce. keyDigest is the SHA-256 of its key, with which the
// answer is proved; nil: heldcall does not know its key.
func (a Answer) Encode(nonce string, keyDigest []byte) []byte {
	d := decision{Nonce: nonce, Decision: refused, Reason: a.Reason}
	if a.Allow {
		d.Decision, d.Arguments, d.Reason = allowed, a.Arguments, ""
	}
	if keyDigest != nil {
		d.Proof = d.prove(keyDigest)
	}
	return encoded(d)
}

func (d *decision) prove(keyDigest []byte) string {
	return Proof(keyDigest, "answer", d.Nonce, d.Decision, d.Arguments, d.Reason)
}

// Decode reads the answer to the command that has sent a nonce. With keyDigest, the SHA-256 of its key, one that allows
// the call must be proved. It fails for anything but a whole answer.
func Decode(body []byte, nonce string, keyDigest []byte) (Answer, error) {
	var d decision
	if err := json.Unmarshal(body, &d, json.RejectUnknownMembers(true)); err != nil {
		return Answer{}, fmt.Errorf("the answer is not one of heldcall: %w", cut(err))
	}
	switch {
	case nonce == "" || d.Nonce != nonce:
		return Answer{}, errors.New("the answer is to another question")
	case d.Decision == refused && d.Reason != "":
		return Answer{Reason: d.Reason}, nil
	case keyDigest != nil && !hmac.Equal([]byte(d.Proof), []byte(d.prove(keyDigest))):
		return Answer{}, errors.New("the answer is not of a heldcall that knows the key")
	case d.Decision == allowed && d.Reason == "":
		return Answer{Allow: true, Arguments: d.Arguments}, nil
	}
	return Answer{}, errors.New("the answer is neither allow nor deny with a reason")
}

// Proof returns a proof that its maker knows the SHA-256 of a key. The key cannot be computed from it. Proofs for
// different purposes or texts are different.
func Proof(keyDigest []byte, purpose string, texts ...string) string {
	mac := hmac.New(sha256.New, keyDigest)
	for _, text := range append([]string{"heldcall hook", purpose}, texts...) {
		fmt.Fprintf(mac, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Sign returns the signature of the question of a command that has the key with a SHA-256. A server to which it sends the
// question can pass it on, and cannot ask another one.
func Sign(keyDigest []byte, client, nonce, deadline string, body []byte) string {
	sum := sha256.Sum256(body)
	return Proof(keyDigest, "question", client, nonce, deadline, hex.EncodeToString(sum[:]))
}

// KeyID names a key by its SHA-256, to one who knows that.
func KeyID(keyDigest []byte) string { return Proof(keyDigest, "key id")[:32] }
