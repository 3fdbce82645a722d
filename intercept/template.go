package intercept

import "github.com/heldcall/heldcall/intercept/strictjson"

// Template is the form of a decoded event of a stream: a piece of text, or of the input
// of a call and nothing else ([Part.Spent]). Further events of that form need no decoder.
type Template struct {
	Name string // the event line, "" for none
	// Call is the call whose input the event extends, which is held; nil for other text.
	// Units are those of the part.
	Call  *Unit
	Units []*Unit
	// Overtakes reports that the event goes out before the held parts.
	Overtakes bool
	// Slots are the places at which events of the form differ, see [strictjson.NewShape].
	Slots []strictjson.Span
	// Repeater takes the texts in them.
	Repeater Repeater

	shape strictjson.Shape
}

// Repeater takes events of a known form.
type Repeater interface {
	// Repeat takes the texts of an event. Held reports whether parts are held. It returns the piece
	// of a call's input and the number of bytes that are kept of the event. It takes nothing and
	// returns false if the event has to be decoded.
	Repeat(texts [][]byte, held bool) (added string, size int, ok bool)
}

// templates are the forms of the last few events.
type templates struct {
	known []Template // made with the first, as whole answers have none
	next  int        // the oldest
	texts [][]byte
}

// knownTemplates is how many forms are kept.
const knownTemplates = 4

// match finds the template of a part.
func (r *templates) match(frame Frame, part []byte) (*Template, [][]byte) {
	var payload []byte
	name, read := "", false
	for i := range r.known {
		t := &r.known[i]
		if !read || t.Name != name {
			payload, _ = frame.Single(part, t.Name)
			payload, name, read = unpadded(payload), t.Name, true
		}
		if len(payload) == 0 {
			continue
		}
		texts, ok := t.shape.Match(payload, r.texts[:0])
		if r.texts = texts[:0]; ok {
			return t, texts
		}
	}
	return nil, nil
}

// unpadded returns a payload without its last brace and the blanks before it: some
// providers pad their events with a varying number of them. It is nil for a payload
// that does not end in a brace.
func unpadded(payload []byte) []byte {
	n := len(payload)
	for n > 0 && payload[n-1] == ' ' {
		n--
	}
	if n == 0 || payload[n-1] != '}' {
		return nil
	}
	for n--; n > 0 && payload[n-1] == ' '; {
		n--
	}
	return payload[:n]
}

// learn adds the form of a part that was just decoded.
func (r *templates) learn(frame Frame, p *Part) {
	t := p.Form
	if len(t.Slots) == 0 {
		return
	}
	payload, ok := frame.Single(p.Bytes, t.Name)
	if !ok {
		t.Name = ""
		payload, ok = frame.Single(p.Bytes, "")
	}
	if payload = unpadded(payload); !ok {
		return
	}
	for _, s := range t.Slots {
		if s.Start <= 0 || s.Start > s.End || s.End > len(payload) {
			return
		}
	}
	t.shape = strictjson.NewShape(payload, t.Slots)
	if r.known == nil {
		r.known = make([]Template, 0, knownTemplates)
	}
	if len(r.known) < knownTemplates {
		r.known = append(r.known, t)
		return
	}
	r.known[r.next] = t
	r.next = (r.next + 1) % knownTemplates
}
