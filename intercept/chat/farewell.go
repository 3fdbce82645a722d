package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

// finishStream renders what was held of a stream, at its end.
func (s *settling) finishStream() (out []byte, err error) {
	for i := range s.kept.Len() {
		part, refs := s.kept.At(i)
		part, err := s.recast(part, refs, s.plan)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return append(out, s.farewells(s.plan)...), nil
}

// farewellsBefore renders the notes of the choices that end in a chunk.
func (a *answer) farewellsBefore(p plan, next *chunk) (out []byte) {
	for i := range next.choices {
		if d := &next.choices[i]; d.finish != "" {
			out = append(out, a.farewell(p, d.index, false)...)
		}
	}
	return out
}

// farewells renders all notes that have not gone out, each with an end.
func (a *answer) farewells(p plan) (out []byte) {
	for _, c := range a.choices {
		out = append(out, a.farewell(p, c.index, true)...)
	}
	return out
}

// farewell renders the note of a choice, if it has one that has not gone out.
func (a *answer) farewell(p plan, index int, end bool) []byte {
	note, ok := p.notes[index]
	if !ok || p.noted[index] {
		return nil
	}
	p.noted[index] = true
	role := ""
	if !a.sent[index].role {
		role = `"role":"assistant",`
	}
	a.sent[index] = sent{role: true, finish: end}
	said := ""
	if c, err := a.choice(index); err == nil {
		said = a.before(c) + c.said().text()
	}
	text := intercept.Paragraph(said, note)
	out := sse.AppendData(nil, "", []byte(a.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{%s"content":%s},"finish_reason":null}]`, index, role, intercept.Quote(text)))))
	if end {
		out = sse.AppendData(out, "", []byte(a.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":"stop"}]`, index))))
	}
	return out
}
