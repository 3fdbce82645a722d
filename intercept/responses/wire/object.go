package wire

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// MaxItems is the maximum number of output items of a response.
const MaxItems = 2048

// Object is a response: of an event that has one, or a whole answer.
type Object struct {
	Raw          string
	Head         Head
	Status       string
	Stored       bool // upstream reports that it keeps it
	Unstored     bool // upstream reports that it does not
	Background   bool
	failed       bool // it has an error
	Conversation string
	Output       []*Entry
	Listed       bool   // it has a list of output items
	Usage        string // raw, "" when absent or null
	Tools        string // raw
}

// Head is what all events of an answer have in common, as raw JSON.
type Head struct{ ID, Created, Previous string }

// objectFields are the names that have a meaning in a response.
var objectFields = []string{"id", "object", "created_at", "status", "error", "output", "tools", "store", "usage", "conversation", "previous_response_id", "background"}

// ReadObject reads a response, whose JSON is raw, or "" if it need not be kept. No client reads
// the fields that repeat the request as a call, unless they have an item that is one.
func ReadObject(d *intercept.Reading, v gjson.Result, raw string) *Object {
	o := &Object{Raw: raw}
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

func (o *Object) field(d *intercept.Reading, key string, v gjson.Result) bool {
	switch key {
	case "output":
		return o.list(d, v)
	case "id":
		o.Head.ID = d.Raw(v)
	case "created_at":
		o.Head.Created = d.Raw(v)
	case "previous_response_id":
		o.Head.Previous = d.Raw(v)
	case "status":
		return d.Text(&o.Status, v, "the status of a response")
	case "store":
		o.Stored, o.Unstored = v.Type == gjson.True, v.Type == gjson.False
	case "background":
		o.Background = v.Type == gjson.True
	case "conversation":
		o.Conversation = ConversationID(v)
	case "usage":
		if v.IsObject() {
			o.Usage = d.Raw(v)
		}
	case "error":
		o.failed = v.Type != gjson.Null
	case "tools":
		if o.Raw != "" {
			o.Tools = d.Raw(v)
		}
		return echoesNoCall(d, v)
	case "tool_choice", "text", "instructions", "prompt", "metadata", "reasoning":
		return echoesNoCall(d, v)
	default:
		return d.Unknown(key, v, objectFields...)
	}
	return d.Unknown("", v)
}

// echoesNoCall reports whether there is no call in a field that repeats the request: a text has none.
func echoesNoCall(d *intercept.Reading, v gjson.Result) bool {
	text := !v.IsObject() && !v.IsArray()
	return text || !mayHaveItem(v.Raw) || !callsWithin(v, 0) || d.Fail("a response echoes a call where none belongs")
}

func (o *Object) list(d *intercept.Reading, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Fail("the output of a response is not an array")
	}
	o.Listed = true
	v.ForEach(func(_, v gjson.Result) bool {
		if len(o.Output) == MaxItems {
			return d.Fail("a response has too many output items")
		}
		o.Output = append(o.Output, ReadEntry(d, v))
		return d.OK()
	})
	return d.OK()
}

// Pending reports a response whose calls are not made yet, or never will be.
func (o *Object) Pending() bool {
	switch o.Status {
	case "queued", "in_progress", "cancelled", "failed":
		return true
	}
	return o.failed
}

// ConversationID reads a conversation: its id, or an object that has it.
func ConversationID(v gjson.Result) string {
	if v.IsObject() {
		v = v.Get("id")
	}
	return v.Str
}
