package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

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

// cacheMark is the member that agents move between requests of a conversation. A mark is an object, or
// null; arguments and metadata may have a member of this name with another value, which counts.
const cacheMark = "cache_control"

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
}

// header adds a header that names a session.
func (l *likeness) header(h SessionHeader, client *renames) {
	to := l.around
	if client.hasHeader(h.Name) {
		to = l.names
	}
	writeParts(to, "header", h.Name, h.Digest)
}

// body adds the fields of a body. Some agents write the members of their objects in any order.
func (l *likeness) body(body []byte, client *renames) error {
	if bytes.Contains(body, []byte(cacheMark)) {
		var unmarked bytes.Buffer
		if err := WriteCanonical(&unmarked, body); err != nil {
			return err
		}
		body = unmarked.Bytes()
	}
	sorted, err := inOrder(body)
	if err != nil {
		return err
	}
	fields, err := readMembers(sorted)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch rename := client.field(f.name); {
		case mayDiffer[f.name]:
		case rename != nil:
			l.renamed(l.around, f, rename)
		case f.name == l.parsed.HistoryField() && f.value.Kind() == '[':
			err = l.history(f, client)
		case f.name == l.parsed.HistoryField(), f.name == "system", f.name == "instructions":
			l.member(l.content, f)
		default:
			l.member(l.around, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inOrder returns a value without white space, with one spelling of each string, and with the members
// of all objects in the order of their names. Numbers stay as they are.
func inOrder(value []byte) (jsontext.Value, error) {
	sorted := jsontext.Value(bytes.Clone(value))
	err := sorted.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false), jsontext.PreserveRawStrings(false), jsontext.ReorderRawObjects(true))
	return sorted, err
}

// member adds a member of an object.
func (l *likeness) member(to io.Writer, m member) {
	writeParts(to, "member", m.name)
	_, _ = to.Write(m.value)
}

// renamed adds a member that has names. The rest of it goes to a digest.
func (l *likeness) renamed(to io.Writer, f member, rename rename) {
	kept, names := rename(f.value)
	l.member(l.names, member{f.name, names})
	if kept != nil {
		l.member(to, member{f.name, kept})
	}
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
		_, _ = l.content.Write(item)
		return nil
	}
	members, err := readMembers(item)
	for _, m := range members {
		switch {
		case agents && m.name == "id":
			l.member(l.names, m)
		case m.name == client.item:
			l.renamed(l.content, m, client.itemRename)
		default:
			l.member(l.content, m)
		}
	}
	return err
}

// member is a member of an object.
type member struct {
	name  string
	value jsontext.Value
}

// readMembers returns the members of an object, in their order. They alias it.
func readMembers(object []byte) (members []member, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errors.Join(err, errNoObject)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = dec.ReadValue(); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

var errNoObject = errors.New("it is no object")

// writeParts writes texts so that different ones never make the same bytes.
func writeParts(to io.Writer, parts ...string) {
	_, _ = io.WriteString(to, "\n"+lengthPrefixed(parts...)+"\n")
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
			if in == '{' && read%2 == 1 && token.String() == cacheMark && strings.ContainsRune("{n", rune(dec.PeekKind())) {
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
