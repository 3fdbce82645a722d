// Package subjects has the names that heldcall uses in NATS: the streams and the
// subjects of their messages, how a name becomes one token of a subject, and the
// subjects that clients other than heldcall may use. To read it: Token, the
// streams, then rights.go.
package subjects

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

const (
	plainToken   = 128 // longest name that is its own token
	encodedToken = 256 // longest name that is encoded; longer ones are hashed
)

// Token writes any name as one token of a subject or key. Letters, digits, "-"
// and "_" stand for themselves. A name with any other character becomes "="
// and its base64url without padding ("run.1" is "=cnVuLjE"); one of more than
// 256 bytes "==" and its SHA-256 in hex, which cannot be decoded.
func Token(name string) string {
	switch {
	case plain(name):
		return name
	case len(name) <= encodedToken:
		return "=" + base64.RawURLEncoding.EncodeToString([]byte(name))
	default:
		sum := sha256.Sum256([]byte(name))
		return "==" + hex.EncodeToString(sum[:])
	}
}

// ParseToken reads a [Token] back. A token that no name has, or that cannot be
// read back, is an error.
func ParseToken(token string) (string, error) {
	name := token
	if encoded, ok := strings.CutPrefix(token, "="); ok {
		decoded, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil {
			return "", fmt.Errorf("subject token %q: not base64url after the \"=\"", token)
		}
		name = string(decoded)
	}
	if Token(name) != token {
		return "", fmt.Errorf("subject token %q stands for no name; see the encoding of tokens", token)
	}
	return name, nil
}

func plain(name string) bool {
	if name == "" || len(name) > plainToken {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// tenantToken is the token of a tenant; a request without one has "default".
func tenantToken(tenant string) string {
	if tenant == "" {
		return "default"
	}
	return Token(tenant)
}

// The streams.
const (
	StreamEvents   = "HELDCALL_EVENTS"   // the audit log
	StreamRequests = "HELDCALL_REQUESTS" // new requests, for bots
)

// The subjects of the streams, with {name} for each token that differs.
const (
	Request = "heldcall.v1.requests.{tenant}.{kind}.{id}" // of [StreamRequests]
	Event   = "heldcall.v1.events.{tenant}.{type}.{id}"   // of [StreamEvents]
)

// ChannelConsumerPrefix begins the names of the consumers with which channels
// read [StreamEvents].
const ChannelConsumerPrefix = "heldcall_notify_"

// ChannelConsumer is the name of the consumer with which a channel reads
// [StreamEvents].
func ChannelConsumer(channel string) string { return ChannelConsumerPrefix + Token(channel) }

// Fill returns a subject with its {name} places replaced by tokens, in their order.
func Fill(form string, tokens ...string) string {
	parts := strings.Split(form, ".")
	for i, part := range parts {
		if part[0] == '{' {
			parts[i], tokens = tokens[0], tokens[1:]
		}
	}
	return strings.Join(parts, ".")
}

// All is the wildcard subject that matches every subject of a form.
func All(form string) string {
	before, _, _ := strings.Cut(form, "{")
	return before + ">"
}

// OfRequest is the subject on which a request is published.
func OfRequest(r approvals.Request) string {
	return Fill(Request, tenantToken(r.Principal.Tenant), Token(string(r.Kind)), Token(r.ID))
}

// OfEvent is the subject on which an event is published: it ends with the id of the
// grant, the request or the run of the event, else with the event's own.
func OfEvent(e approvals.Event) string {
	id := e.ID
	switch {
	case e.Grant != nil:
		id = e.Grant.ID
	case e.RequestID != "":
		id = e.RequestID
	case e.RunID != "" && strings.HasPrefix(string(e.Type), "run_"):
		id = e.RunID
	}
	return Fill(Event, tenantToken(e.Tenant), Token(string(e.Type)), Token(id))
}
