package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

// finishStream renders what was held of a stream.
func (s *settling) finishStream() ([]byte, error) {
	out, err := s.kept.Render(s.recast)
	if err != nil {
		return nil, err
	}
	return append(out, s.farewells()...), nil
}

// farewellsBefore renders the notes of the choices that end in a chunk.
func (a *answer) farewellsBefore(next *chunk) (out []byte) {
	for i := range next.choices {
		if d := &next.choices[i]; d.finish != "" {
			out = append(out, a.farewell(a.lane(d.index), false)...)
		}
	}
	return out
}

// farewells renders all notes that have not gone out, each with an end.
func (a *answer) farewells() (out []byte) {
	for _, l := range a.lanes {
		out = append(out, a.farewell(l, true)...)
	}
	return out
}

// farewell renders the note of a choice, if it has one that has not gone out.
func (a *answer) farewell(l *lane, end bool) []byte {
	if l.note == "" || l.noted {
		return nil
	}
	l.noted = true
	role := ""
	if !l.role {
		role = `"role":"assistant",`
	}
	l.role, l.finish = true, end
	text := intercept.Paragraph(l.heard(), l.note)
	out := sse.AppendData(nil, "", []byte(a.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{%s"content":%s},"finish_reason":null}]`, l.index, role, intercept.Quote(text)))))
	if end {
		out = sse.AppendData(out, "", []byte(a.head.chunk(fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":"stop"}]`, l.index))))
	}
	return out
}
