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

// farewell renders what the message lacks before its end: the note as its last
// block, if there is one that has not gone out, and with end also the reason to stop
// where no event of the stream says it.
func (a *answer) farewell(p *plan, end bool) (out []byte) {
	stop := a.due
	if p.note != "" && !p.noted {
		p.noted = true
		index := a.place(nil, p.drop)
		out = appendBlockStart(out, index, `{"type":"text","text":""}`)
		out = appendEvent(out, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, index, intercept.Quote(a.noted(p.note))))
		out = appendBlockStop(out, index)
		stop = "end_turn"
	}
	if !end || stop == "" {
		return out
	}
	if p.lost(stop) {
		stop = "end_turn"
	}
	a.due = ""
	usage := a.usageSum()
	if usage == "" {
		usage = `{"output_tokens":0}`
	}
	return appendEvent(out, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+intercept.Quote(stop)+`,"stop_sequence":null},"usage":`+usage+`}`)
}

// noted is a note as it stands behind what was said.
func (a *answer) noted(note string) string { return intercept.Paragraph(a.text+a.said(), note) }
