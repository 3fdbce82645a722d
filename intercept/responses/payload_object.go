package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// maxItems is the maximum number of output items of a response.
const maxItems = 2048

// object is a response: of an event that has one, or a whole answer.
type object struct {
	raw          string
	head         responseHead
	status       string
	stored       bool // upstream reports that it keeps it
	unstored     bool // upstream reports that it does not
	background   bool
	failed       bool // it has an error
	conversation string
	output       []*entry
	listed       bool   // it has a list of output items
	reason       string // why it is incomplete: max_output_tokens, content_filter
	usage        string // raw, "" when absent or null
	tools        string // raw
}

// responseHead is what all events of an answer have in common, as raw JSON.
type responseHead struct{ id, created, previous string }

// objectFields are the names that have a meaning in a response.
var objectFields = []string{"id", "object", "created_at", "status", "error", "output", "tools", "store", "usage", "conversation", "previous_response_id", "background", "incomplete_details"}

// readObject reads a response, whose JSON is raw, or "" if it need not be kept. No client reads
// the fields that repeat the request as a call, unless they have an item that is one.
func readObject(d *intercept.Reading, v gjson.Result, raw string) *object {
	o := &object{raw: raw}
	var named strictjson.Named
	v.ForEach(func(k, v gjson.Result) bool {
		named.Note(k.Str, v)
		return o.field(d, k.Str, v)
	})
	if named.Input() {
		d.Fail("a response looks like a call")
	}
	return o
}

func (o *object) field(d *intercept.Reading, key string, v gjson.Result) bool {
	switch key {
	case "output":
		return o.list(d, v)
	case "id":
		o.head.id = d.Raw(v)
	case "created_at":
		o.head.created = d.Raw(v)
	case "previous_response_id":
		o.head.previous = d.Raw(v)
	case "status":
		return d.Text(&o.status, v, "the status of a response")
	case "store":
		o.stored, o.unstored = v.Type == gjson.True, v.Type == gjson.False
	case "background":
		o.background = v.Type == gjson.True
	case "conversation":
		o.conversation = conversationID(v)
	case "usage":
		o.usage = rawObject(d, v)
	case "error":
		o.failed = v.Type != gjson.Null
	case "incomplete_details":
		o.reason = v.Get("reason").Str
	case "tools":
		if o.raw != "" {
			o.tools = d.Raw(v)
		}
		return echoesNoCall(d, v)
	case "tool_choice", "text", "instructions", "prompt", "metadata", "reasoning":
		return echoesNoCall(d, v)
	default:
		return d.Unknown(key, v, objectFields...)
	}
	return d.Unknown("", v)
}

// rawObject returns the text of an object, "" for any other value.
func rawObject(d *intercept.Reading, v gjson.Result) string {
	if !v.IsObject() {
		return ""
	}
	return d.Raw(v)
}

// echoesNoCall reports whether there is no call in a field that repeats the request: a text has none.
func echoesNoCall(d *intercept.Reading, v gjson.Result) bool {
	text := !v.IsObject() && !v.IsArray()
	return text || !mayHaveItem(v.Raw) || !callsWithin(v, 0) || d.Fail("a response echoes a call where none belongs")
}

func (o *object) list(d *intercept.Reading, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Fail("the output of a response is not an array")
	}
	o.listed = true
	v.ForEach(func(_, v gjson.Result) bool {
		if len(o.output) == maxItems {
			return d.Fail("a response has too many output items")
		}
		o.output = append(o.output, readEntry(d, v))
		return d.OK()
	})
	return d.OK()
}

// pending reports a response whose calls are not made yet, or never will be.
func (o *object) pending() bool {
	switch o.status {
	case "queued", "in_progress", "cancelled", "failed":
		return true
	}
	return o.failed
}

// conversationID reads a conversation: its id, or an object that has it.
func conversationID(v gjson.Result) string {
	if v.IsObject() {
		v = v.Get("id")
	}
	return v.Str
}
