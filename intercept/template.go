package intercept

import (
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Template is the form of an event of a stream that was decoded: a piece of text, or
// of the input of a call. A further event of that form needs no decoder.
type Template struct {
	Name string // the event line, "" for none
	// Call is the call to whose input the event adds, nil for other text. Units are
	// those of the part.
	Call  *Unit
	Units []*Unit
	// Overtakes reports that the event goes out before what is held.
	Overtakes bool
	// Of is what the dialect knows of the slots.
	Of any

	shape   strictjson.Shape
	learned bool
}

// templates are the forms of the last few events.
type templates struct {
	known [4]Template
	next  int // which to forget first
	texts [][]byte
}

// match finds the template of a part.
func (r *templates) match(part []byte) (*Template, [][]byte) {
	var payload []byte
	name, read := "", false
	for i := range r.known {
		t := &r.known[i]
		if !t.learned {
			continue
		}
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

// unpadded is a payload without its last brace and the blanks before it: some
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

// learn remembers the form of a part that was just decoded.
func (a *Answer) learn(p *Part) {
	t, slots := a.codec.Template(p)
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
	t.shape, t.learned = strictjson.NewShape(payload, slots), true
	a.templates.known[a.templates.next] = t
	a.templates.next = (a.templates.next + 1) % len(a.templates.known)
}

// Forget makes the answer decode the next events: the forms that it has learned do not
// hold any more.
func (a *Answer) Forget() { a.templates = templates{} }

// Forget is [Answer.Forget] for the codec.
func (p *Part) Forget() { p.answer.Forget() }

// known takes a part of a known form: it passes or is held as the part did that the
// form was learned from.
func (a *Answer) known(part []byte) (bool, error) {
	t, texts := a.templates.match(part)
	if t == nil {
		return false, nil
	}
	held, u := a.held(), t.Call
	if u != nil && (u.passed == held || u.passed != (u.check != nil)) {
		return false, nil
	}
	if u == nil && t.Overtakes && a.waiting != nil {
		return false, nil // it waits with the call
	}
	added, size, ok := a.codec.Repeat(t, texts, held)
	if !ok {
		return false, nil
	}
	if err := a.budget.buffer(size); err != nil {
		return true, err
	}
	switch {
	case u != nil && u.passed && u.check.Add(added) == nil, u == nil && (!held || t.Overtakes):
		a.out.Add(part)
		return true, nil
	case u != nil && u.passed:
		u.Interrupt()
		a.codec.Disposed(nil, Held)
	case u != nil:
		u.Interrupt()
	}
	return true, a.kept.Hold(part, t.Units, a.limits.MaxBytes)
}
