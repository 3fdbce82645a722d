package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Notice implements [intercept.Codec].
func (a *answer) Notice(*intercept.Plan) []byte { return a.notices() }

// noticesBefore renders the notices of the choices that end in a chunk.
func (a *answer) noticesBefore(next *wire.Chunk) (out []byte) {
	for i := range next.Choices {
		if d := &next.Choices[i]; d.Finish != "" {
			out = append(out, a.closingNotice(a.output(d.Index), false)...)
		}
	}
	return out
}

// notices renders all notices that have not gone out, each with an end.
func (a *answer) notices() (out []byte) {
	for _, l := range a.outputs {
		out = append(out, a.closingNotice(l, true)...)
	}
	return out
}

// closingNotice renders the notice of a choice, if it has one that has not gone out.
func (a *answer) closingNotice(l *outputChoice, end bool) []byte {
	if l.notice == "" || l.noticed {
		return nil
	}
	l.noticed = true
	role := ""
	if !l.role {
		role = `"role":"assistant",`
	}
	l.role, l.finish = true, end
	text := strictjson.Paragraph(l.heard(), l.notice)
	out := sse.AppendData(nil, "", []byte(a.head.Chunk(fmt.Sprintf(`[{"index":%d,"delta":{%s"content":%s},"finish_reason":null}]`, l.index, role, strictjson.Quote(text)))))
	if end {
		out = sse.AppendData(out, "", []byte(a.head.Chunk(fmt.Sprintf(`[{"index":%d,"delta":{},"finish_reason":"stop"}]`, l.index))))
	}
	return out
}
