package messages

import (
	"fmt"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// The canonical form of a call, in which each is released, contains known values only.

// maxPiece bounds the input in one event, in bytes. Some clients read no line of more
// than 64 KiB.
const maxPiece = 16 << 10

// arguments returns the arguments with which a call goes out.
func (e *edit) arguments(b *block) string {
	if edited, ok := e.plan.Edit(&b.Unit); ok {
		return edited
	}
	return b.call.arguments()
}

// call returns the events of a call.
func (e *edit) call(b *block) (out []intercept.Event) {
	e.answer.body.released = true
	n := e.answer.body.blocks.place(b, e.plan)
	out = appendBlockStart(out, n, b.call.block(b.call.id, "{}"))
	for input := e.arguments(b); input != ""; {
		end := len(input)
		if end > maxPiece {
			for end = maxPiece; !utf8.RuneStart(input[end]); {
				end--
			}
		}
		out = appendDelta(out, n, "input_json_delta", "partial_json", input[:end])
		input = input[end:]
	}
	b.ended = true
	return appendBlockStop(out, n)
}

// wholeCall renders the block of a call as it is in the content of a whole answer.
func (e *edit) wholeCall(b *block) string {
	arguments := e.arguments(b)
	if err := strictjson.Strict([]byte(arguments)); err != nil && e.Err == nil {
		e.Err = fmt.Errorf("put the arguments into the call: %w", err)
	}
	return b.call.block(b.call.id, arguments)
}

func appendBlockStart(dst []intercept.Event, index int, block string) []intercept.Event {
	return appendEvent(dst, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block))
}

func appendDelta(dst []intercept.Event, index int, kind, field, text string) []intercept.Event {
	return appendEvent(dst, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, field, strictjson.Quote(text)))
}

func appendBlockStop(dst []intercept.Event, index int) []intercept.Event {
	return appendEvent(dst, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// Notice implements [intercept.Codec].
func (a *answer) Notice(plan *intercept.Plan) []intercept.Event {
	if plan.Open {
		return a.body.blocks.closings(plan)
	}
	return a.closingNotice(plan, true)
}

// closingNotice is what the message lacks before its end: the notice as its last
// block, unless it has gone out, and with end also the stop reason, if no event of the
// stream has it.
func (a *answer) closingNotice(plan *intercept.Plan, end bool) (out []intercept.Event) {
	stop := a.output.stop
	if plan.Notice != "" && !a.output.notice {
		a.output.notice = true
		index := a.body.blocks.place(nil, plan)
		out = appendBlockStart(out, index, `{"type":"text","text":""}`)
		out = appendDelta(out, index, "text_delta", "text", strictjson.Paragraph(a.text(), plan.Notice))
		out = appendBlockStop(out, index)
		if stop = "end_turn"; a.body.blocks.left() {
			stop = "tool_use"
		}
	}
	if !end || stop == "" {
		return out
	}
	if a.lostCalls(plan, stop) {
		stop = "end_turn"
	}
	a.output.stop = ""
	usage := a.usage()
	if usage == "" {
		usage = `{"output_tokens":0}`
	}
	return appendEvent(out, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+strictjson.Quote(stop)+`,"stop_sequence":null},"usage":`+usage+`}`)
}
