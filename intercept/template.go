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
	// Of is the dialect's description of the slots.
	Of any

	shape strictjson.Shape
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
func (r *templates) match(part []byte) (*Template, [][]byte) {
	var payload []byte
	name, read := "", false
	for i := range r.known {
		t := &r.known[i]
		if !read || t.Name != name {
			payload, _ = Single(part, t.Name)
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
func (r *templates) learn(codec Codec, p *Part) {
	t, slots := codec.Template(p)
	if len(slots) == 0 {
		return
	}
	payload, ok := Single(p.Bytes, t.Name)
	if !ok {
		t.Name = ""
		payload, ok = Single(p.Bytes, "")
	}
	if payload = unpadded(payload); !ok {
		return
	}
	for _, s := range slots {
		if s.Start <= 0 || s.Start > s.End || s.End > len(payload) {
			return
		}
	}
	t.shape = strictjson.NewShape(payload, slots)
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
