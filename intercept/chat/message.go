package chat

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// utterance is the assistant message of one turn as its fragments have built it
// so far, but for its calls.
type utterance struct {
	content rope             // JSON string contents, still escaped
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
func (u *utterance) any() bool { return u.content.size > 0 || len(u.parts) > 0 || len(u.order) > 0 }

// add takes one field of a delta.
func (u *utterance) add(field string, v gjson.Result) {
	switch {
	case field == "content" && v.Type == gjson.String:
		u.content.add([]byte(v.Raw[1 : len(v.Raw)-1]))
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
		u.content.add(escaped)
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
		return contentText(gjson.Parse(joinItems(u.parts)))
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
	case u.content.size > 0:
		b.WriteString(`"` + u.content.String() + `"`)
	default:
		b.WriteString("null")
	}
	for _, name := range u.order {
		b.WriteString("," + quote(name) + ":" + u.extras[name].value())
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
	b.WriteString(`{"id":` + quote(id) + `,"type":` + quote(body) + `,` + quote(body) + `:{"name":` + quote(c.name) + `,` + quote(input) + `:`)
	b.WriteString(c.input() + "}")
	for _, field := range c.own {
		b.WriteString("," + field)
	}
	b.WriteString("}")
	return b.String()
}

func (c *call) legacyObject() string {
	return `{"name":` + quote(c.name) + `,"arguments":` + c.input() + `}`
}

// input renders the arguments as they stood there: as a string or, at some
// servers, as an object.
func (c *call) input() string {
	if c.object && c.whole() {
		return c.args.String()
	}
	return quote(c.args.String())
}

func (c *call) legacyResult(content string) string {
	return `{"role":"function","name":` + quote(c.name) + `,"content":` + quote(content) + `}`
}

// toolResult renders the message that answers a call.
func toolResult(id, content string) string {
	return `{"role":"tool","tool_call_id":` + quote(id) + `,"content":` + quote(content) + `}`
}

// quote renders s as a JSON string without escaping more than JSON asks for.
func quote(s string) string {
	q, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8 was replaced
		q, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(q)
}

// madeUpID is the id of a call that upstream gave none, in what heldcall tells
// the model. It depends on turn and position only.
func madeUpID(turn string, position int) string {
	return "call_" + turn + "_" + strconv.Itoa(position)
}

// rope is text that grows by small pieces without being copied as it grows.
type rope struct {
	full [][]byte
	last []byte
	size int
}

func (r *rope) add(p []byte) {
	if len(r.last)+len(p) > cap(r.last) {
		if len(r.last) > 0 {
			r.full = append(r.full, r.last)
		}
		r.last = make([]byte, 0, max(len(p), min(2*cap(r.last), 8<<10), 128))
	}
	r.last = append(r.last, p...)
	r.size += len(p)
}

func (r *rope) String() string {
	var b strings.Builder
	b.Grow(r.size)
	for _, p := range r.full {
		b.Write(p)
	}
	b.Write(r.last)
	return b.String()
}
