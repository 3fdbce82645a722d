package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// cacheMark is the member that agents move between requests of a conversation.
const cacheMark = "cache_control"

// SessionDigest returns a digest of the principal's session, for keys in the store.
func (c *Conversation) SessionDigest() string {
	sum := sha256.Sum256([]byte(c.sessionIdentity().turnsKey()))
	return hex.EncodeToString(sum[:16])
}

// Fingerprint returns a digest that is equal for repetitions of the request only: of the
// same principal with the same API key, session, named run and upstream, with the same
// history, model and tools, in any spelling of the JSON. It is "" for a body that
// cannot be read.
func (c *Conversation) Fingerprint(upstream string) string {
	r := c.Request
	e := &r.Envelope
	sum := sha256.New()
	_, _ = io.WriteString(sum, c.sessionIdentity().Key(
		r.Dialect.Name(), upstream, e.Method, e.Path, e.Query, r.DigestKey(), c.sessionIdentity().Session, r.Run))
	names := c.Parsed.ConversationFields()
	fields, err := readBody(e.Body, names)
	if err != nil {
		return ""
	}
	for _, name := range names {
		if raw := fields.Raw(name); raw != nil {
			_, _ = io.WriteString(sum, "\n"+name+"\n")
			if WriteCanonical(sum, raw) != nil {
				return ""
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// readBody finds fields of a body. Some requests have none.
func readBody(body []byte, names []string) (strictjson.Fields, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return strictjson.Fields{}, nil
	}
	return strictjson.ReadFields(body, names...)
}

// WriteCanonical writes a strict JSON value without white space and cache marks, and with
// one spelling of each string.
func WriteCanonical(w io.Writer, raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	enc := jsontext.NewEncoder(w, jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if token.Kind() == '"' {
			in, read := dec.StackIndex(dec.StackDepth())
			if in == '{' && read%2 == 1 && token.String() == cacheMark {
				if err := dec.SkipValue(); err != nil {
					return err
				}
				continue
			}
		}
		if err := enc.WriteToken(token); err != nil {
			return err
		}
	}
}

// HeldTurn is a stored turn with the same [Conversation.Fingerprint] as a request.
type HeldTurn struct {
	Detached       bool   // its agent has disconnected
	Ended          bool   // it is no longer stored
	Peer           string // the address of its agent, without the port
	IdempotencyKey string
}

// Joins returns the index of the held turn that a request continues, -1 for none. They
// are in the order in which they began.
//
// A request that is declared to be a repetition also takes over a turn whose agent has
// not been seen to disconnect, if no other turn could be meant. Without evidence an equal
// request may be one of another agent, so it joins only a detached turn: one in a
// conversation with ids of upstream, or the only one of its kind from the same address.
func (c *Conversation) Joins(turns []HeldTurn) int {
	r := c.Request
	if key := r.IdempotencyKey; key != "" {
		if i := slices.IndexFunc(turns, func(t HeldTurn) bool { return !t.Ended && t.IdempotencyKey == key }); i >= 0 {
			return i
		}
	}
	if r.Retried {
		if i := r.joinsRetried(turns); i >= 0 {
			return i
		}
	}
	if c.Parsed.Made() != "" {
		return slices.IndexFunc(turns, HeldTurn.waits)
	}
	if len(turns) == 1 && turns[0].waits() && turns[0].Peer == r.Peer {
		return 0
	}
	return -1
}

// waits reports whether a turn waits for an agent.
func (t HeldTurn) waits() bool { return !t.Ended && t.Detached }

// joinsRetried is [Conversation.Joins] for a request that is declared to be a repetition.
func (r *Request) joinsRetried(turns []HeldTurn) int {
	may := func(t HeldTurn) bool {
		return t.IdempotencyKey == "" || r.IdempotencyKey == "" // else they differ
	}
	near := func(t HeldTurn) bool { return may(t) && t.Peer == r.Peer }
	if i := slices.IndexFunc(turns, func(t HeldTurn) bool { return t.waits() && near(t) }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(turns, func(t HeldTurn) bool { return t.waits() && may(t) }); i >= 0 {
		return i
	}
	return only(turns, func(t HeldTurn) bool { return !t.Ended && near(t) })
}

// only returns the index of the one turn for which fits returns true, -1 for none or
// several.
func only(turns []HeldTurn, fits func(HeldTurn) bool) int {
	first := slices.IndexFunc(turns, fits)
	if first < 0 || slices.ContainsFunc(turns[first+1:], fits) {
		return -1
	}
	return first
}

// ContinuesPast reports whether a request continues the conversation of an earlier one
// after its input: it has the same history, and more. Both must be read.
func (c *Conversation) ContinuesPast(earlier *Conversation) bool {
	if c.Request.Dialect.Name() != earlier.Request.Dialect.Name() || c.Request.DigestKey() != earlier.Request.DigestKey() ||
		!slices.Equal(c.Info().Refers, earlier.Info().Refers) {
		return false
	}
	items, earlierItems := c.history(), earlier.history()
	return len(earlierItems) > 0 && len(items) > len(earlierItems) && slices.Equal(items[:len(earlierItems)], earlierItems)
}

// history returns a digest of each item of a request's history, nil if it cannot be
// read.
func (c *Conversation) history() (items [][sha256.Size]byte) {
	names := c.Parsed.ConversationFields()[:1]
	fields, err := readBody(c.Request.Envelope.Body, names)
	raw := fields.Raw(names[0])
	if err != nil || len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' { // a text is a message of the user's
		raw = slices.Concat([]byte(`[{"role":"user","content":`), raw, []byte("}]"))
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '[' {
		return nil
	}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		sum := sha256.New()
		if WriteCanonical(sum, item) != nil {
			return nil
		}
		items = append(items, [sha256.Size]byte(sum.Sum(nil)))
	}
	return items
}
