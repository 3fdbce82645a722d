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
	texts  map[string]*text // that continue from event to event, by their places
	paused bool             // no text continues in the last event: one has ended, or all
}

// heldEvent is an event that waits.
type heldEvent struct {
	part  []byte
	edits []edit
}

// text is the part of a text that waits. Each event has a piece of it.
type text struct {
	pieces []piece
	since  int // events since its last piece
}

// piece is a part of a text in a held event.
type piece struct {
	event int // index in the held events
	at    span
}

// patience is how many events a text may wait for its next piece.
const patience = 32

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
	s.paused = false
	for _, data := range sse.Parse(part).Data {
		s.payload(data, cap(part)-cap(data))
	}
	for place, t := range s.texts {
		if t.since++; t.since > patience {
			s.settle(place)
		}
	}
	if len(s.texts) > 0 && !s.paused {
		return nil
	}
	return s.release()
}

// settle masks a text as far as it is known.
func (s *Stream) settle(place string) {
	pieces := s.texts[place].pieces
	delete(s.texts, place)
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

// release returns all held events.
func (s *Stream) release() (out []byte) {
	for place := range s.texts {
		s.settle(place)
	}
	for _, e := range s.held {
		out = append(out, apply(e.part, merged(e.edits))...)
	}
	s.held = nil
	return out
}

// payload reads the strings of the payload at an offset of the event that was held last.
// Texts in a member delta continue those of earlier events at the same place; others are
// whole.
func (s *Stream) payload(payload []byte, offset int) {
	event := len(s.held) - 1
	pieces, place, ping := map[string]span{}, "", false
	r := newScanner(payload)
	for {
		at, ok := r.next()
		if !ok {
			break
		}
		if strings.HasSuffix(r.name, "index") || r.name == "item_id" {
			place += " " + r.text
		}
		if r.kind != '"' {
			continue
		}
		ping = ping || (r.name == "type" && string(payload[at.from:at.to]) == "ping")
		at.from, at.to = at.from+offset, at.to+offset
		if path := r.path(); r.name == "delta" || (r.name != "" && slices.Contains(r.names, "delta")) {
			pieces[path] = at
			continue
		}
		one := &s.held[event]
		one.edits = s.masker.findIn(one.edits, one.part, at)
	}
	if !r.ended { // it is not JSON: its lines are a text
		one := &s.held[event]
		one.edits = s.masker.findIn(one.edits, one.part, span{offset, offset + len(payload)})
		s.paused = true
		return
	}
	s.paused = len(pieces) == 0 && !ping
	for path, at := range pieces {
		s.add(path+place, piece{event, at})
	}
}

// add adds a piece to a text. The text waits for its next piece if it ends with what may
// be the beginning of a secret.
func (s *Stream) add(place string, p piece) {
	t := s.texts[place]
	if t == nil {
		t = &text{}
		s.texts[place] = t
	}
	t.pieces, t.since = append(t.pieces, p), 0
	var joined []byte
	for _, p := range t.pieces {
		joined = append(joined, s.held[p.event].part[p.at.from:p.at.to]...)
	}
	if !s.masker.mayContinue(joined) {
		s.settle(place)
	}
}

// mayContinue reports whether a text ends with what may be the beginning of a secret.
func (m *Masker) mayContinue(text []byte) bool {
	for v := range views(text) {
		tail := v.text[max(0, len(v.text)-longestEscape):]
		if i := bytes.LastIndexAny(tail, `\%`); i >= 0 && !escapeEnds(tail[i:]) {
			return true
		}
		if m.search.begins(v.text, m.longest) < len(v.text) {
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
	case len(text) > 1 && text[1] == 'u':
		return len(text) >= longestEscape
	}
	return len(text) > 1
}
