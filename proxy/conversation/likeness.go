package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/intercept"
)

// Likeness is what tells requests apart: in digests, which are equal for requests that are alike.
// Content is "" for a body that cannot be read.
type Likeness struct {
	// Content is of the whole request, but for what is in Names and for what may differ in a
	// repetition: see mayDiffer.
	Content string
	// Names is of the names that an agent changes when it is started again (see renames), and
	// of the ids that it gives to items. A repetition by the same process has the same.
	Names string
	// Frame is of what is in Content but for the conversation itself: the history and the prompt of
	// the system.
	Frame string
}

// mayDiffer are the fields of a body in which a repetition of a request may differ. All others
// count, whether heldcall knows them or not. A cacheMark may differ anywhere.
var mayDiffer = map[string]bool{"temperature": true, "top_p": true, "seed": true, "stream_options": true, "service_tier": true}

// Likeness returns what tells the request apart from others. Requests of different principals,
// API keys, sessions and runs that headers name, or upstreams are never alike. The upstream of a
// request is always the same.
func (c *Conversation) Likeness(upstream string) Likeness {
	if c.like == nil {
		like := c.likeness(upstream)
		c.like = &like
	}
	return *c.like
}

func (c *Conversation) likeness(upstream string) Likeness {
	r := c.Request
	e := &r.Envelope
	l := likeness{content: sha256.New(), names: sha256.New(), frame: sha256.New(), parsed: c.Parsed}
	l.around = io.MultiWriter(l.content, l.frame)
	client := r.renames()
	_, _ = io.WriteString(l.around, PrincipalKey(r.Principal, r.Dialect.Name(), upstream, e.Method, e.Path, e.Query, r.DigestKey(), r.Session, r.Run))
	for _, header := range r.sessionHeaders() {
		l.header(header, client)
	}
	if len(bytes.TrimSpace(e.Body)) > 0 && l.body(e.Body, client) != nil {
		return Likeness{}
	}
	return Likeness{Content: hex.EncodeToString(l.content.Sum(nil)), Names: hex.EncodeToString(l.names.Sum(nil)), Frame: hex.EncodeToString(l.frame.Sum(nil))}
}

// likeness makes a [Likeness].
type likeness struct {
	content, names, frame hash.Hash
	around                io.Writer // to content and frame
	parsed                intercept.Request
	ordered               bool // the values are those of [inOrder]
}

// header adds a header that names a session.
func (l *likeness) header(h SessionHeader, client *renames) {
	to := l.around
	if client.hasHeader(h.Name) {
		to = l.names
	}
	writeParts(to, "header", h.Name, h.Digest)
}

// body adds the fields of a body. Some agents write the members of their objects in any order. A large body is put
// in order part by part: a copy of all of it could be more than there is memory.
func (l *likeness) body(body []byte, client *renames) (err error) {
	if l.ordered = len(body) <= orderedAtOnce; l.ordered {
		if body, err = inOrder(body); err != nil {
			return err
		}
	}
	fields, err := sortedMembers(body)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch rename := client.field(f.name); {
		case mayDiffer[f.name]:
		case rename != nil:
			err = l.renamed(l.around, f, rename)
		case f.name == l.parsed.HistoryField() && f.value.Kind() == '[':
			err = l.history(f, client)
		case f.name == l.parsed.HistoryField(), f.name == "system", f.name == "instructions":
			err = l.member(l.content, f)
		default:
			err = l.member(l.around, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// member adds a member of an object.
func (l *likeness) member(to io.Writer, m member) error {
	writeParts(to, "member", m.name)
	return l.value(to, m.value)
}

// value adds a value.
func (l *likeness) value(to io.Writer, value jsontext.Value) error {
	if l.ordered {
		_, err := to.Write(value)
		return err
	}
	return writeInOrder(to, value, orderedDepth)
}

// renamed adds a member that has names. The rest of it goes to a digest.
func (l *likeness) renamed(to io.Writer, f member, rename rename) (err error) {
	if !l.ordered {
		if f.value, err = inOrder(f.value); err != nil {
			return err
		}
	}
	kept, names := rename(f.value)
	writeParts(l.names, "member", f.name)
	_, _ = l.names.Write(names)
	if kept != nil {
		writeParts(to, "member", f.name)
		_, _ = to.Write(kept)
	}
	return nil
}

// history adds the history. Of the items that the agent has made, the ids are names.
func (l *likeness) history(f member, client *renames) error {
	writeParts(l.content, "history", f.name)
	dec := jsontext.NewDecoder(bytes.NewBuffer(f.value), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := l.item(item, client); err != nil {
			return err
		}
	}
	return nil
}

// item adds an item of the history.
func (l *likeness) item(item jsontext.Value, client *renames) error {
	writeParts(l.content, "item")
	agents := item.Kind() == '{' && l.parsed.AgentItem(item)
	if (!agents && client.item == "") || item.Kind() != '{' {
		return l.value(l.content, item)
	}
	members, err := sortedMembers(item)
	for _, m := range members {
		switch {
		case err != nil:
			return err
		case agents && m.name == "id":
			err = l.member(l.names, m)
		case m.name == client.item:
			err = l.renamed(l.content, m, client.itemRename)
		default:
			err = l.member(l.content, m)
		}
	}
	return err
}

// writeParts writes texts so that different ones never make the same bytes.
func writeParts(to io.Writer, parts ...string) {
	_, _ = io.WriteString(to, "\n"+lengthPrefixed(parts...)+"\n")
}
