// Package subjects has the names in NATS that the store, its server and the channel of bots share:
// the streams, the subjects of their messages, the encoding of a name as one token of a subject,
// and the subjects that other clients may use. Read [Token], the streams, then rights.go.
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

// Token encodes any name as one token of a subject or key. A name of letters, digits, "-" and
// "_" is its own token. The token of another name is "=" and its base64url without padding
// ("run.1" is "=cnVuLjE"), or, for more than 256 bytes, "==" and its SHA-256 in hex, which
// cannot be decoded.
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

// ParseToken decodes a [Token]. It fails for a token that no name has or that cannot be
// decoded.
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
		return "", fmt.Errorf("subject token %q is not the token of a name; see the encoding of tokens", token)
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

// tenantToken returns the token of a tenant, "default" for none.
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

// The subjects of the streams, with {name} for each variable token.
const (
	Request = "heldcall.v1.requests.{tenant}.{kind}.{id}" // of [StreamRequests]
	Event   = "heldcall.v1.events.{tenant}.{type}.{id}"   // of [StreamEvents]
)

// ChannelConsumerPrefix is the prefix of the names of the consumers of channels.
const ChannelConsumerPrefix = "heldcall_notify_"

// ChannelConsumer returns the name of the consumer by which a channel reads [StreamEvents].
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

// All returns the wildcard subject that matches every subject of a form.
func All(form string) string {
	before, _, _ := strings.Cut(form, "{")
	return before + ">"
}

// OfRequest returns the subject on which a request is published.
func OfRequest(r approvals.Request) string {
	return Fill(Request, tenantToken(r.Principal.Tenant), Token(string(r.Kind)), Token(r.ID))
}

// OfEvent returns the subject on which an event is published. It ends with the id of the
// grant, the request or the run of the event, or with the id of the event itself.
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
