package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// utterance is the assistant message of one turn as its fragments have built it
// so far, but for its calls.
type utterance struct {
	content intercept.Rope   // JSON string contents, still escaped
	parts   []item           // content that came as an array
	extras  map[string]*said // other fields that have to come back, by name
	order   []string         // names of extras in the order they came
}

// said is one field of a message that came in pieces.
type said struct {
	escaped []byte // strings: JSON string contents, concatenated
	items   []item // arrays
	raw     string // anything else: the last value
}

// returns reports the fields of an answer that providers want back in the
// history: reasoning in its many spellings, and thought signatures.
func returns(field string) bool {
	return field == "refusal" || field == "extra_content" ||
		strings.HasPrefix(field, "reasoning") || strings.HasPrefix(field, "thinking") || strings.HasPrefix(field, "thought")
}

// any reports whether anything was said.
func (u *utterance) any() bool { return u.content.Len() > 0 || len(u.parts) > 0 || len(u.order) > 0 }

// add takes one field of a delta.
func (u *utterance) add(field string, v gjson.Result) {
	switch {
	case field == "content" && v.Type == gjson.String:
		u.content.Add([]byte(v.Raw[1 : len(v.Raw)-1]))
	case field == "content" && v.IsArray():
		u.parts = mergeItems(u.parts, v)
	case returns(field):
		u.extra(field).add(v)
	}
}

// addEscaped takes string contents of a field that are still escaped.
func (u *utterance) addEscaped(field string, escaped []byte) {
	switch {
	case field == "content":
		u.content.Add(escaped)
	case returns(field):
		s := u.extra(field)
		s.escaped = append(s.escaped, escaped...)
	}
}

func (u *utterance) extra(field string) *said {
	s := u.extras[field]
	if s == nil {
		if u.extras == nil {
			u.extras = make(map[string]*said)
		}
		s = &said{}
		u.extras[field] = s
		u.order = append(u.order, field)
	}
	return s
}

func (s *said) add(v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		s.escaped = append(s.escaped, v.Raw[1:len(v.Raw)-1]...)
	case v.IsArray():
		if s.items == nil {
			s.items = []item{}
		}
		s.items = mergeItems(s.items, v)
	default:
		s.raw = v.Raw
	}
}

func (s *said) value() string {
	switch {
	case s.items != nil:
		return joinItems(s.items)
	case s.escaped != nil:
		return `"` + string(s.escaped) + `"`
	}
	return s.raw
}

// text is what the message says to the user.
func (u *utterance) text() string {
	if len(u.parts) > 0 {
		return intercept.ContentText(gjson.Parse(joinItems(u.parts)))
	}
	return gjson.Parse(`"` + u.content.String() + `"`).String()
}

// message renders the assistant message with its calls, as it goes back to the
// provider: tool_calls in order, or the legacy function_call.
func (u *utterance) message(calls []*call, id func(*call) string) string {
	var b strings.Builder
	b.WriteString(`{"role":"assistant","content":`)
	switch {
	case len(u.parts) > 0:
		b.WriteString(joinItems(u.parts))
	case u.content.Len() > 0:
		b.WriteString(`"` + u.content.String() + `"`)
	default:
		b.WriteString("null")
	}
	for _, name := range u.order {
		b.WriteString("," + intercept.Quote(name) + ":" + u.extras[name].value())
	}
	b.WriteString(callFields(calls, id))
	b.WriteString("}")
	return b.String()
}

func callFields(calls []*call, id func(*call) string) string {
	var list []string
	fields := ""
	for _, c := range calls {
		if c.kind == kindLegacy {
			fields = `,"function_call":` + c.legacyObject()
			continue
		}
		list = append(list, c.entry(id(c)))
	}
	if list != nil {
		fields += `,"tool_calls":[` + strings.Join(list, ",") + "]"
	}
	return fields
}

// entry renders the call as an entry of tool_calls in a request, with the
// fields of its own (thought signatures) that its fragments carried.
func (c *call) entry(id string) string {
	body, input := "function", "arguments"
	if c.kind == kindCustom {
		body, input = "custom", "input"
	}
	var b strings.Builder
	b.WriteString(`{"id":` + intercept.Quote(id) + `,"type":` + intercept.Quote(body) + `,` + intercept.Quote(body) + `:{"name":` + intercept.Quote(c.name) + `,` + intercept.Quote(input) + `:`)
	b.WriteString(c.input() + "}")
	for _, field := range c.own {
		b.WriteString("," + field)
	}
	b.WriteString("}")
	return b.String()
}

func (c *call) legacyObject() string {
	return `{"name":` + intercept.Quote(c.name) + `,"arguments":` + c.input() + `}`
}

// input renders the arguments as they stood there: as a string or, at some
// servers, as an object.
func (c *call) input() string {
	if c.object && c.whole() {
		return c.args.String()
	}
	return intercept.Quote(c.args.String())
}

func (c *call) legacyResult(content string) string {
	return `{"role":"function","name":` + intercept.Quote(c.name) + `,"content":` + intercept.Quote(content) + `}`
}

// toolResult renders the message that answers a call.
func toolResult(id, content string) string {
	return `{"role":"tool","tool_call_id":` + intercept.Quote(id) + `,"content":` + intercept.Quote(content) + `}`
}
