package responses

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Notice implements [intercept.Codec].
func (a *answer) Notice(p *intercept.Plan) []byte { return a.closingNotice(p) }

// closingNotice renders the notice as a message of the assistant's, if there is one
// that has not gone out.
func (a *answer) closingNotice(p *intercept.Plan) (out []byte) {
	if p.Notice == "" || a.noticed {
		return nil
	}
	a.noticed = true
	at := fmt.Sprintf(`"output_index":%d,`, a.seats)
	a.seats++
	id, text := strictjson.Quote(a.noticeID()), strictjson.Quote(p.Notice)
	part := at + `"item_id":` + id + `,"content_index":0,`
	item := func(status, content string) string {
		return fmt.Sprintf(`"item":{"id":%s,"type":"message","status":%q,"role":"assistant","content":[%s]}`, id, status, content)
	}
	content := func(text string) string {
		return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + text + "}"
	}
	for _, event := range []struct{ typ, fields string }{
		{"response.output_item.added", at + item("in_progress", "")},
		{"response.content_part.added", part + `"part":` + content(`""`)},
		{"response.output_text.delta", part + `"delta":` + text + `,"logprobs":[]`},
		{"response.output_text.done", part + `"text":` + text + `,"logprobs":[]`},
		{"response.content_part.done", part + `"part":` + content(text)},
		{"response.output_item.done", at + item("completed", content(text))},
	} {
		out = a.render(out, event.typ, event.fields)
	}
	return out
}

// noticeID is the id of the message with the closing notice.
func (a *answer) noticeID() string { return "msg_heldcall_" + a.limits.TurnID }

// noticeMessage is the message with the closing notice, whole.
func (a *answer) noticeMessage(notice string) string {
	return fmt.Sprintf(`{"id":%s,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]}`,
		strictjson.Quote(a.noticeID()), strictjson.Quote(notice))
}

// render appends an event that heldcall makes up, numbered as the others are.
func (a *answer) render(out []byte, typ, fields string) []byte {
	if a.numbered {
		a.recounted = true
		if number := a.next; number <= a.req.After {
			a.next++
			return out
		}
		fields = `"sequence_number":` + a.count() + "," + fields
	}
	return sse.AppendData(out, typ, []byte(`{"type":`+strictjson.Quote(typ)+","+fields+"}"))
}

// failure is the response that failed, with what the agent has of it. What was
// released may not have reached it: no call is repeated but those that passed.
func (a *answer) failure(reason string) string {
	items := append([]string(nil), a.output...)
	for _, it := range a.items {
		if it.seat >= 0 && it.over && (it.call == nil || it.Passed()) {
			items = append(items, it.entry.Raw)
		}
	}
	created := a.head.Created
	if !gjson.Valid(created) || created == "" {
		created = "0"
	}
	return fmt.Sprintf(`{"id":%s,"object":"response","created_at":%s,"status":"failed","background":false,"error":{%s},"incomplete_details":null,"instructions":null,"max_output_tokens":null,`+
		`"model":%s,"output":%s,"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled","usage":null,"metadata":{}}`,
		a.head.ID, created, reason, strictjson.Quote(a.req.Text("model")), list(items))
}
