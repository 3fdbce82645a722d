package messages

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
)

// finishStream renders what was held of a stream, at its end.
func (s *settling) finishStream() ([]byte, error) {
	out, err := s.kept.Render(s.planned)
	if err != nil {
		return nil, err
	}
	return append(out, s.farewell(&s.plan, true)...), nil
}

// farewellBefore renders the note before the event that ends the message.
func (a *answer) farewellBefore(p *plan, next *event) []byte {
	if next.kind != kindMessageDelta && next.kind != kindMessageStop {
		return nil
	}
	return a.farewell(p, next.kind == kindMessageStop)
}

// farewell renders the note as the last block of the message, if there is one that
// has not gone out, and the end of the message where none comes.
func (a *answer) farewell(p *plan, end bool) (out []byte) {
	if p.note == "" || p.noted {
		return nil
	}
	p.noted = true
	index := a.place(nil, p.drop)
	for _, e := range []struct{ name, payload string }{
		{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index)},
		{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, index, intercept.Quote(a.noted(p.note)))},
		{"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)},
	} {
		out = appendEvent(out, e.name, e.payload)
	}
	if !end {
		return out
	}
	usage := string(intercept.AddUsage(a.spent, []byte(a.turn.usage)))
	if usage == "" {
		usage = `{"output_tokens":0}`
	}
	return appendEvent(out, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":`+usage+`}`)
}

// noted is a note as it stands behind what was said.
func (a *answer) noted(note string) string { return intercept.Paragraph(a.text+a.said(), note) }
