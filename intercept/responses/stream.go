package responses

import (
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// agentStream is the answer as the agent gets it: one response, whose events and output
// items are numbered without gaps, whatever heldcall leaves out or continues.
type agentStream struct {
	head      responseHead // of the first response
	after     int64        // the agent has the events up to this number, -1 for none
	alias     string       // the agent's previous_response_id, "" if upstream knows it by that id
	continued bool         // another body of upstream was part of it before the current one

	items      int   // output items that the agent has
	next       int64 // the sequence number of the next event
	numbered   bool  // upstream's events have sequence numbers
	renumbered bool  // the numbers of events differ from upstream's
	reindexed  bool  // the indexes of output items differ from upstream's
	noticed    bool  // the closing notice was sent
}

// learn notes whether upstream numbers its events.
func (o *agentStream) learn(e *event) { o.numbered = o.numbered || e.number >= 0 }

// begin notes the properties of a response of upstream.
func (o *agentStream) begin(head responseHead) {
	if !o.continued && head.id != "" {
		o.head = head
	}
}

// rename makes the response the one that the agent has cancelled. The response before
// it is part of the same answer for the agent.
func (o *agentStream) rename(id string) {
	o.head.id, o.head.previous, o.reindexed = strictjson.Quote(id), "null", true
}

// proceed notes that another body of upstream continues the answer.
func (o *agentStream) proceed() { o.continued = true }

// leaveOut notes that output items, or events, of upstream do not reach the agent or
// reach it changed.
func (o *agentStream) leaveOut(items, events bool) {
	o.reindexed, o.renumbered = o.reindexed || items, o.renumbered || events
}

// verbatim reports whether events go out as upstream sent them.
func (o *agentStream) verbatim() bool {
	return !o.continued && !o.renumbered && !o.reindexed && o.after < 0 && o.alias == ""
}

// sent notes the numbers of events, and of output items, that went out verbatim.
func (o *agentStream) sent(events []*event, units []*intercept.Unit) {
	for _, e := range events {
		if e.number >= 0 {
			o.next = e.number + 1
		}
	}
	for _, u := range units {
		if it := itemOf(u); it != nil {
			o.index(it)
		}
	}
}

// index gives an item its index for the agent: upstream's, unless an item was left out
// before it or another body came before.
func (o *agentStream) index(it *item) {
	if it.agentIndex >= 0 {
		return
	}
	if it.agentIndex = o.items; !o.reindexed && !o.continued && it.index >= 0 {
		it.agentIndex = it.index
	}
	o.items = max(o.items, it.agentIndex+1)
}

// align takes upstream's number for the next event, unless the agent's differ.
func (o *agentStream) align(e *event) {
	if !o.renumbered && !o.continued && e.number >= 0 {
		o.next = e.number
	}
}

// count returns the number of the next event, and whether the agent has that event.
func (o *agentStream) count() (number string, known bool) {
	o.next++
	return strconv.FormatInt(o.next-1, 10), o.next-1 <= o.after
}

// appendEvent appends an event of heldcall's, numbered as the others are.
func (o *agentStream) appendEvent(out []intercept.Event, typ, fields string) []intercept.Event {
	if o.numbered {
		o.renumbered = true
		number, isSent := o.count()
		if isSent {
			return out
		}
		fields = `"sequence_number":` + number + "," + fields
	}
	return append(out, intercept.Event{Name: typ, Data: `{"type":` + strictjson.Quote(typ) + "," + fields + "}"})
}

// keepalive is an event without content, nil before the first event of a stream and in
// a stream whose events have no numbers.
func (o *agentStream) keepalive() []intercept.Event {
	if !o.numbered || o.next == 0 {
		return nil
	}
	o.renumbered = true
	number, _ := o.count()
	return []intercept.Event{{Name: "keepalive", Data: `{"type":"keepalive","sequence_number":` + number + "}"}}
}

// previous is the response that the agent continues, by the id that it knows.
func (o *agentStream) previous() string {
	if o.alias != "" {
		return strictjson.Quote(o.alias)
	}
	return o.head.previous
}

// closingNotice is the notice as a message of the assistant, unless it is empty or
// was sent.
func (o *agentStream) closingNotice(n closingText) (out []intercept.Event) {
	if n.text == "" || o.noticed {
		return nil
	}
	o.noticed = true
	index := fmt.Sprintf(`"output_index":%d,`, o.items)
	o.items++
	part := index + `"item_id":` + strictjson.Quote(n.id()) + `,"content_index":0,`
	text := strictjson.Quote(n.text)
	for _, event := range []struct{ typ, fields string }{
		{"response.output_item.added", index + `"item":` + n.item("in_progress", "")},
		{"response.content_part.added", part + `"part":` + outputText(`""`)},
		{"response.output_text.delta", part + `"delta":` + text + `,"logprobs":[]`},
		{"response.output_text.done", part + `"text":` + text + `,"logprobs":[]`},
		{"response.content_part.done", part + `"part":` + outputText(text)},
		{"response.output_item.done", index + `"item":` + n.message()},
	} {
		out = o.appendEvent(out, event.typ, event.fields)
	}
	return out
}

// closingText is the text that the agent gets in place of the calls of a turn.
type closingText struct{ turn, text string }

func (n closingText) id() string { return "msg_heldcall_" + n.turn }

// message is the message with the notice.
func (n closingText) message() string {
	return n.item("completed", outputText(strictjson.Quote(n.text)))
}

func (n closingText) item(status, content string) string {
	return fmt.Sprintf(`{"id":%s,"type":"message","status":%q,"role":"assistant","content":[%s]}`, strictjson.Quote(n.id()), status, content)
}

// outputText is a part of a message with a quoted text.
func outputText(quoted string) string {
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quoted + "}"
}
