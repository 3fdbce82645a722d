package mask

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/sse"
)

// Stream masks the answer of a model that arrives in blocks: server-sent events, or one
// JSON value. Events pass at once as they are, unless a text in them ends with what may be
// the beginning of a secret: then they wait for the next event of that text.
type Stream struct {
	masker *Masker
	limit  int // bytes of a buffered body, 0 for none

	form   byte   // of the body: 0 while unknown, '{' for a JSON value, ':' for events
	whole  []byte // a JSON value
	led    int    // bytes of it that have passed
	events sse.Splitter
	held   []heldEvent
	texts  map[string]*text // that continue from event to event, by their paths and places
}

// heldEvent is an event that waits.
type heldEvent struct {
	part  []byte
	edits []edit
}

// text is the part of a text that waits. Each event has a piece of it.
type text struct {
	place  []string
	pieces []piece
	since  int // events with other texts of the place since its last piece
}

// piece is a part of a text in a held event.
type piece struct {
	event int // index in the held events
	at    span
}

const (
	// patience is how many events with other texts of its place, such as the same choice, a text
	// may wait for its next piece.
	patience = 32
	// maxHeld bounds the events that wait.
	maxHeld = 4096
)

// NewStream returns the masker of one answer. It buffers at most limit bytes, and is nil for a
// nil *Masker.
func (m *Masker) NewStream(limit int) *Stream {
	if m == nil {
		return nil
	}
	return &Stream{masker: m, limit: limit, texts: map[string]*text{}}
}

// Write takes a block and returns what may pass. The result does not alias p.
func (s *Stream) Write(p []byte) (out []byte) {
	if s.form == 0 {
		s.whole = append(s.whole, p...)
		lead := bytes.TrimLeft(s.whole, "\xef\xbb\xbf \t\r\n")
		if len(lead) == 0 {
			return nil
		}
		p, s.form = s.whole, ':'
		if lead[0] == '{' || lead[0] == '[' {
			// Its reader sees the form at once, and knows which heartbeats fit.
			s.form, s.led = '{', len(s.whole)-len(lead)+1
			return bytes.Clone(s.whole[:s.led])
		}
		s.whole = nil
	} else if s.form == '{' {
		if s.whole = append(s.whole, p...); s.limit > 0 && len(s.whole) > s.limit {
			return s.End() // its reader refuses it by its length
		}
		return nil
	}
	s.events.Write(p)
	for {
		part, ok, err := s.events.Next()
		if !ok || err != nil {
			return out
		}
		out = append(out, s.event(part)...)
	}
}

// End returns the rest of the answer.
func (s *Stream) End() (out []byte) {
	if s.form != ':' {
		rest := s.masker.JSON(s.whole)[s.led:]
		s.whole, s.led = nil, 0
		return rest
	}
	if rest := s.events.Rest(); len(rest) > 0 {
		out = s.event(rest)
	}
	return append(out, s.release()...)
}

// event takes one event and returns the events that may pass.
func (s *Stream) event(part []byte) []byte {
	part = bytes.Clone(part)
	s.held = append(s.held, heldEvent{part: part})
	for _, data := range sse.Parse(part).Data {
		s.payload(data, cap(part)-cap(data))
	}
	if len(s.texts) > 0 && len(s.held) < maxHeld {
		return nil
	}
	return s.release()
}

// settle masks a text as far as it is known.
func (s *Stream) settle(key string) {
	pieces := s.texts[key].pieces
	delete(s.texts, key)
	texts := make([][]byte, len(pieces))
	for i, p := range pieces {
		texts[i] = s.held[p.event].part[p.at.from:p.at.to]
	}
	for _, e := range s.masker.findJoined(texts) {
		p := pieces[e.piece]
		edits := &s.held[p.event].edits
		*edits = append(*edits, edit{p.at.from + e.from, p.at.from + e.to, e.by})
	}
}

// settleAll settles the texts within a place: all without one.
func (s *Stream) settleAll(place ...string) {
	for key, t := range s.texts {
		if within(t.place, place) {
			s.settle(key)
		}
	}
}

// release returns all held events.
func (s *Stream) release() (out []byte) {
	s.settleAll()
	for _, e := range s.held {
		out = append(out, apply(e.part, merged(e.edits))...)
	}
	s.held = nil
	return out
}

// continued is a piece of a text that continues from event to event.
type continued struct {
	path string
	in   *scope
	at   span
}

// payload reads the strings of the payload at an offset of the event that was held last.
// Texts in a member delta continue those of earlier events at the same place; others are
// whole.
func (s *Stream) payload(payload []byte, offset int) {
	one := &s.held[len(s.held)-1]
	var found []continued
	var ended []*scope
	in := &scope{}
	r := newScanner(payload)
	for {
		at, ok := r.next()
		if !ok {
			break
		}
		switch r.kind {
		case '{', '[':
			in = in.open(strings.Join(r.names, "/"), r.kind == '[')
		case '}', ']':
			in = in.in
		}
		if strings.HasSuffix(r.name, "index") || r.name == "item_id" {
			in.facts = append(in.facts, r.path()+"="+r.text)
		}
		at.from, at.to = at.from+offset, at.to+offset
		if r.kind == '0' {
			one.edits = s.masker.findNumber(one.edits, one.part, at)
		}
		if r.kind != '"' {
			continue
		}
		if ends(r.name, string(one.part[at.from:at.to])) {
			ended = append(ended, in)
		}
		if r.name == "delta" || (r.name != "" && slices.Contains(r.names, "delta")) {
			found = append(found, continued{r.path(), in, at})
			continue
		}
		one.edits = s.masker.findIn(one.edits, one.part, at)
	}
	if !r.ended { // it is not JSON: its lines are a text
		one.edits = s.masker.findIn(one.edits, one.part, span{offset, offset + len(payload)})
		s.settleAll()
		return
	}
	s.proceed(found)
	for _, in := range ended {
		s.settleAll(in.place()...)
	}
}

// proceed adds the pieces of the event that was held last to their texts.
func (s *Stream) proceed(found []continued) {
	added := map[string]bool{}
	for _, c := range found {
		place := c.in.place()
		key := c.path + " " + strings.Join(place, " ")
		s.add(key, place, piece{len(s.held) - 1, c.at})
		added[key] = true
		for other, t := range s.texts {
			if !added[other] && (within(t.place, place) || within(place, t.place)) {
				t.since++
			}
		}
	}
	for key, t := range s.texts {
		if t.since > patience {
			s.settle(key)
		}
	}
}

// add adds a piece to a text. The text waits for its next piece if it ends with what may
// be the beginning of a secret.
func (s *Stream) add(key string, place []string, p piece) {
	t := s.texts[key]
	if t == nil {
		t = &text{place: place}
		s.texts[key] = t
	}
	t.pieces, t.since = append(t.pieces, p), 0
	var joined []byte
	for _, p := range t.pieces {
		joined = append(joined, s.held[p.event].part[p.at.from:p.at.to]...)
	}
	if !s.masker.mayContinue(joined) {
		s.settle(key)
	}
}

// mayContinue reports whether a text ends with what may be the beginning of a secret.
func (m *Masker) mayContinue(text []byte) bool {
	for v := range views(text) {
		for _, escapes := range []struct {
			begin   string
			longest int
		}{{`\%`, longestEscape}, {"&", maxEntity}} {
			tail := v.text[max(0, len(v.text)-escapes.longest):]
			if i := bytes.LastIndexAny(tail, escapes.begin); i >= 0 && !escapeEnds(tail[i:]) {
				return true
			}
		}
		if m.search.begins(v.text, m.longest) < len(v.text) {
			return true
		}
		if digits := v.digits(); m.base64.begins(digits, m.longest) < len(digits) {
			return true
		}
	}
	return false
}

// longestEscape is the length of the escape of a UTF-16 unit in JSON: a backslash, u and four
// digits.
const longestEscape = 6

// escapeEnds reports whether an escape at the beginning of a text is whole.
func escapeEnds(text []byte) bool {
	switch {
	case text[0] == '%':
		return len(text) >= 3
	case text[0] == '&':
		return len(text) == maxEntity || bytes.IndexByte(text, ';') > 0 || bytes.ContainsAny(text, white)
	case len(text) > 1 && text[1] == 'x':
		return len(text) >= 4
	case len(text) > 1 && text[1] == 'u':
		return len(text) >= longestEscape
	}
	return len(text) > 1
}
