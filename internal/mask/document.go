package mask

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns a body with its secrets replaced: body itself if it has none. The texts of
// the parts of one list, such as the content of a message, are read as one text, in which
// a secret may begin in one part and end in another. A body that is not JSON is a text.
func (m *Masker) JSON(body []byte) []byte {
	if m == nil {
		return body
	}
	d := document{masker: m, body: body}
	if !d.read() {
		return m.Bytes(body)
	}
	slices.SortFunc(d.edits, func(a, b edit) int { return a.from - b.from })
	return apply(body, d.edits)
}

// document is a JSON text whose strings are masked.
type document struct {
	masker *Masker
	body   []byte
	edits  []edit
	lists  []parts // the open objects and lists, from outside to inside
}

// parts are the texts of the parts of a list.
type parts []span

// span is the inside of a JSON string in the body.
type span struct{ from, to int }

// read reads all strings. It reports false if the body is not JSON.
func (d *document) read() bool {
	r := newScanner(d.body)
	for {
		at, ok := r.next()
		switch {
		case !ok:
			return r.ended
		case r.kind == '{' || r.kind == '[':
			d.lists = append(d.lists, nil)
		case r.kind == '}' || r.kind == ']':
			last := len(d.lists) - 1
			d.join(d.lists[last])
			d.lists = d.lists[:last]
		case r.kind == '"' && r.name == "text" && len(d.lists) > 1:
			list := &d.lists[len(d.lists)-2]
			*list = append(*list, at)
		case r.kind == '"':
			d.edits = d.masker.findIn(d.edits, d.body, at)
		case r.kind == '0':
			d.edits = d.masker.findNumber(d.edits, d.body, at)
		}
	}
}

// findNumber appends the edit of a number of a body: a number with a secret becomes a string.
func (m *Masker) findNumber(edits []edit, body []byte, at span) []edit {
	number := body[at.from:at.to]
	if len(number) < MinLength || !m.Contains(number) {
		return edits
	}
	return append(edits, edit{at.from, at.to, `"` + string(m.Bytes(number)) + `"`})
}

// findIn appends the edits of a span of a body.
func (m *Masker) findIn(edits []edit, body []byte, at span) []edit {
	begun := len(edits)
	edits = m.find(edits, body[at.from:at.to])
	for i := range edits[begun:] {
		edits[begun+i].from += at.from
		edits[begun+i].to += at.from
	}
	return edits
}

// join masks the texts of parts as one text.
func (d *document) join(texts parts) {
	switch len(texts) {
	case 0:
		return
	case 1:
		d.edits = d.masker.findIn(d.edits, d.body, texts[0])
		return
	}
	pieces := make([][]byte, len(texts))
	for i, at := range texts {
		pieces[i] = d.body[at.from:at.to]
	}
	for _, one := range d.masker.findJoined(pieces) {
		one.from, one.to = one.from+texts[one.piece].from, one.to+texts[one.piece].from
		d.edits = append(d.edits, one.edit)
	}
}

// pieceEdit is an edit of one of several pieces.
type pieceEdit struct {
	edit
	piece int
}

// findJoined returns the edits of pieces that are one text. The handle of a secret is in
// the piece in which the secret begins.
func (m *Masker) findJoined(pieces [][]byte) (edits []pieceEdit) {
	for _, whole := range m.findAfter(nil, bytes.Join(pieces, nil), minDigits) {
		begin := 0
		for i, piece := range pieces {
			from, to := max(whole.from-begin, 0), min(whole.to-begin, len(piece))
			if from < to {
				edits = append(edits, pieceEdit{edit{from, to, whole.by}, i})
				whole.by = "" // the rest of it is removed
			}
			begin += len(piece)
		}
	}
	return edits
}

// scanner reads the tokens of a JSON text.
type scanner struct {
	body    []byte
	decoder *jsontext.Decoder
	kind    jsontext.Kind // of the token
	name    string        // of the member whose value it is, else ""
	text    string        // of a number or string
	ended   bool          // at the end of the text

	names   []string // of the members that contain it
	pending string   // the name of the next value
}

func newScanner(body []byte) *scanner {
	return &scanner{body: body, decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// next reads a token, and returns the place of a number or of the inside of a string. Names
// of members are strings without a name.
func (s *scanner) next() (at span, ok bool) {
	token, err := s.decoder.ReadToken()
	if err != nil {
		s.ended = s.decoder.StackDepth() == 0 && s.decoder.InputOffset() > 0 && len(bytes.TrimSpace(s.body[s.decoder.InputOffset():])) == 0
		return at, false
	}
	s.kind, s.name = token.Kind(), s.pending
	s.pending, s.text = "", ""
	switch s.kind {
	case '0':
		s.text = token.String()
		end := int(s.decoder.InputOffset())
		at = span{end - len(s.text), end}
	case '{', '[':
		s.names = append(s.names, s.name)
	case '}', ']':
		s.names = s.names[:len(s.names)-1]
	case '"':
		end := int(s.decoder.InputOffset()) - 1
		at = span{s.begin(end), end}
		if in, n := s.decoder.StackIndex(s.decoder.StackDepth()); in == '{' && n%2 == 1 {
			s.name, s.pending = "", string(s.body[at.from:at.to])
		} else if s.name == "item_id" {
			s.text = token.String()
		}
	}
	return at, true
}

// begin returns where a string begins whose closing quote is at an offset.
func (s *scanner) begin(end int) int {
	for at := end - 1; ; at-- {
		quote := bytes.LastIndexByte(s.body[:at+1], '"')
		escapes := 0
		for quote-escapes > 0 && s.body[quote-escapes-1] == '\\' {
			escapes++
		}
		if at = quote; escapes%2 == 0 {
			return quote + 1
		}
	}
}

// path returns the names of the members that contain the token.
func (s *scanner) path() string { return strings.Join(append(slices.Clone(s.names), s.name), "/") }
