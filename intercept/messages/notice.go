package messages

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Notice implements [intercept.Codec].
func (a *answer) Notice(p *intercept.Plan) []byte {
	if p.Open {
		return a.closings(p)
	}
	return a.closingNotice(p, true)
}

// closings renders the ends of the blocks that the agent has got and that have
// none.
func (a *answer) closings(p *intercept.Plan) (out []byte) {
	for _, b := range a.blocks {
		if !b.ended && p.Reaches(&b.Unit) {
			b.ended = true
			out = appendBlockStop(out, a.place(b, p))
		}
	}
	return out
}

// place is the number of a block among those that the agent gets.
func (a *answer) place(b *block, p *intercept.Plan) int {
	n := a.base
	for _, other := range a.blocks {
		switch {
		case other == b:
			return n
		case p.Reaches(&other.Unit):
			n++
		}
	}
	return n
}

// noticeBefore renders the closing notice before the event that ends the message.
func (a *answer) noticeBefore(p *intercept.Plan, next *event) []byte {
	if next.kind != kindMessageDelta && next.kind != kindMessageStop {
		return nil
	}
	return a.closingNotice(p, next.kind == kindMessageStop)
}

// closingNotice renders what the message lacks before its end: the notice as its last
// block, if there is one that has not gone out, and with end also the reason to stop
// where no event of the stream has it.
func (a *answer) closingNotice(p *intercept.Plan, end bool) (out []byte) {
	stop := a.due
	if p.Notice != "" && !a.noticed {
		a.noticed = true
		index := a.place(nil, p)
		out = appendBlockStart(out, index, `{"type":"text","text":""}`)
		out = appendEvent(out, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, index, strictjson.Quote(a.paragraph(p.Notice))))
		out = appendBlockStop(out, index)
		stop = "end_turn"
	}
	if !end || stop == "" {
		return out
	}
	if lostCalls(p, stop) {
		stop = "end_turn"
	}
	a.due = ""
	usage := a.usageSum()
	if usage == "" {
		usage = `{"output_tokens":0}`
	}
	return appendEvent(out, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+strictjson.Quote(stop)+`,"stop_sequence":null},"usage":`+usage+`}`)
}

// paragraph is a text as it is after what was said.
func (a *answer) paragraph(text string) string { return strictjson.Paragraph(a.text+a.said(), text) }
