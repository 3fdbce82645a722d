package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// SessionDigest returns a digest of the principal's session, for keys in the store.
func (c *Conversation) SessionDigest() string {
	sum := sha256.Sum256([]byte(c.sessionIdentity().turnsKey()))
	return hex.EncodeToString(sum[:16])
}

// HeldTurn is a stored turn of a request with the same [Likeness.Content].
type HeldTurn struct {
	Detached       bool   // its agent has disconnected
	Ended          bool   // it is no longer stored
	Delivered      bool   // its agent has got the whole answer, a short time ago, and may get it again
	Renamed        bool   // the [Likeness.Names] differ: the agent was started again, or it is another one
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
// An agent with other names joins only a detached turn too, and only one that is the only one to wait:
// it was started again, or it is another agent. One whose names a turn has was not started again, and
// joins a turn with its names only. An answer that was delivered is given again to a repetition by the
// same agent only.
func (c *Conversation) Joins(turns []HeldTurn) int {
	var own []HeldTurn // and those that have ended, whose names are not known
	var places []int
	named := false
	for i, t := range turns {
		if t.Ended || !t.Renamed {
			own, places = append(own, t), append(places, i)
			named = named || !t.Ended
		}
	}
	switch {
	case named:
		if i := c.joins(own); i >= 0 {
			return places[i]
		}
	case only(turns, HeldTurn.waits) >= 0:
		return c.joins(turns)
	}
	return -1
}

// joins is [Conversation.Joins] for turns that either all have the names of the request, or all have
// other names.
func (c *Conversation) joins(turns []HeldTurn) int {
	r := c.Request
	if key := r.IdempotencyKey; key != "" {
		if i := slices.IndexFunc(turns, func(t HeldTurn) bool { return t.IdempotencyKey == key && t.open(r) }); i >= 0 {
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

// open reports whether a request that is declared to be a repetition may continue a turn.
func (t HeldTurn) open(r *Request) bool {
	switch {
	case t.Ended:
		return false
	case t.Delivered:
		return !t.Renamed && t.Peer == r.Peer
	}
	return t.Detached || !t.Renamed
}

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
	if i := only(turns, func(t HeldTurn) bool { return !t.Delivered && t.open(r) && near(t) }); i >= 0 {
		return i
	}
	return only(turns, func(t HeldTurn) bool { return t.Delivered && t.open(r) && near(t) })
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
	name := c.Parsed.HistoryField()
	fields, err := readBody(c.Request.Envelope.Body, name)
	raw := fields.Raw(name)
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
		if writeItem(sum, item) != nil {
			return nil
		}
		items = append(items, [sha256.Size]byte(sum.Sum(nil)))
	}
	return items
}

// writeItem writes an item of a history. A content that is one text is written like that text:
// agents write it as a list while it has a cache mark.
func writeItem(w io.Writer, item jsontext.Value) error {
	members, err := readMembers(item)
	if err != nil {
		return WriteCanonical(w, item)
	}
	for _, m := range members {
		if m.name == cacheMark {
			continue
		}
		if m.name == "content" {
			m.value = onlyText(m.value)
		}
		writeParts(w, m.name)
		if err := WriteCanonical(w, m.value); err != nil {
			return err
		}
	}
	return nil
}

// onlyText returns the text in a content that is a list of one text, else the content.
func onlyText(content jsontext.Value) jsontext.Value {
	parts := gjson.ParseBytes(content)
	if part := parts.Get("0"); parts.IsArray() && parts.Get("#").Int() == 1 && strings.HasSuffix(part.Get("type").Str, "text") {
		if text := part.Get("text"); text.Type == gjson.String {
			return jsontext.Value(text.Raw)
		}
	}
	return content
}

// readBody finds a field of a body. Some requests have none.
func readBody(body []byte, name string) (strictjson.Fields, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return strictjson.Fields{}, nil
	}
	return strictjson.ReadFields(body, name)
}
