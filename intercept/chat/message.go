package chat

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// utterance is the assistant message of one turn as its fragments have built it
// so far, but for its calls.
type utterance struct {
	content []byte           // JSON string contents, still escaped
	parts   []string         // content that came as an array: raw parts
	extras  map[string]*said // other fields that have to come back, by name
	order   []string         // names of extras in the order they came
}

// said is one field of a message that came in pieces.
type said struct {
	escaped []byte   // strings: JSON string contents, concatenated
	items   []string // arrays: raw items, merged by index
	raw     string   // anything else: the last value
}

// returns reports the fields of an answer that providers want back in the
// history: reasoning in its many spellings, and thought signatures.
func returns(field string) bool {
	return field == "refusal" || field == "extra_content" ||
		strings.HasPrefix(field, "reasoning") || strings.HasPrefix(field, "thinking") || strings.HasPrefix(field, "thought")
}

// add takes one field of a delta.
func (u *utterance) add(field string, v gjson.Result) {
	switch {
	case field == "content" && v.Type == gjson.String:
		u.content = append(u.content, v.Raw[1:len(v.Raw)-1]...)
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
		u.content = append(u.content, escaped...)
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
		s.items = mergeItems(s.items, v)
	default:
		s.raw = v.Raw
	}
}

func (s *said) value() string {
	switch {
	case s.items != nil:
		return "[" + strings.Join(s.items, ",") + "]"
	case s.escaped != nil:
		return `"` + string(s.escaped) + `"`
	}
	return s.raw
}

// mergeItems adds the items of a streamed array. An item of the same index and
// type as the last one continues it: its texts are appended, its other fields
// replace (OpenRouter's reasoning_details, Mistral's content parts).
func mergeItems(items []string, more gjson.Result) []string {
	more.ForEach(func(_, item gjson.Result) bool {
		if n := len(items); n > 0 && continues(gjson.Parse(items[n-1]), item) {
			items[n-1] = mergeItem(items[n-1], item)
		} else {
			items = append(items, item.Raw)
		}
		return true
	})
	return items
}

func continues(last, item gjson.Result) bool {
	if !last.IsObject() || !item.IsObject() || last.Get("type").Raw != item.Get("type").Raw {
		return false
	}
	if item.Get("index").Exists() || last.Get("index").Exists() {
		return last.Get("index").Raw == item.Get("index").Raw
	}
	return item.Get("type").Str == "text"
}

func mergeItem(last string, item gjson.Result) string {
	item.ForEach(func(k, v gjson.Result) bool {
		path := gjson.Escape(k.Str)
		old := gjson.Get(last, path)
		raw := v.Raw
		switch k.Str {
		case "text", "summary", "data":
			if old.Type == gjson.String && v.Type == gjson.String {
				raw = old.Raw[:len(old.Raw)-1] + v.Raw[1:]
			}
		}
		if v.Type != gjson.Null || !old.Exists() {
			if merged, err := sjson.SetRaw(last, path, raw); err == nil {
				last = merged
			}
		}
		return true
	})
	return last
}

// text is what the message says to the user.
func (u *utterance) text() string {
	if len(u.parts) > 0 {
		return contentText(gjson.Parse("[" + strings.Join(u.parts, ",") + "]"))
	}
	return gjson.Parse(`"` + string(u.content) + `"`).String()
}

// message renders the assistant message with its calls, as it goes back to the
// provider: tool_calls in order, or the legacy function_call.
func (u *utterance) message(calls []*call, id func(*call) string) string {
	var b strings.Builder
	b.WriteString(`{"role":"assistant","content":`)
	switch {
	case len(u.parts) > 0:
		b.WriteString("[" + strings.Join(u.parts, ",") + "]")
	case len(u.content) > 0:
		b.WriteString(`"` + string(u.content) + `"`)
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
	for _, c := range calls {
		if c.kind == kindLegacy {
			return `,"function_call":` + c.legacyObject()
		}
		list = append(list, c.entry(id(c)))
	}
	if list == nil {
		return ""
	}
	return `,"tool_calls":[` + strings.Join(list, ",") + "]"
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
	if c.object {
		b.WriteString(c.args.String())
	} else {
		b.WriteString(quote(c.args.String()))
	}
	b.WriteString("}")
	for _, field := range c.own {
		b.WriteString("," + field)
	}
	b.WriteString("}")
	return b.String()
}

func (c *call) legacyObject() string {
	return `{"name":` + quote(c.name) + `,"arguments":` + quote(c.args.String()) + `}`
}

// result renders the message that answers the call.
func (c *call) result(id, content string) string {
	if c.kind == kindLegacy {
		return `{"role":"function","name":` + quote(c.name) + `,"content":` + quote(content) + `}`
	}
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
