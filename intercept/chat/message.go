package chat

import (
	"cmp"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// assistantMessage is the assistant message of one turn without its calls, assembled from
// its fragments so far.
type assistantMessage struct {
	content strictjson.Rope        // JSON string contents, still escaped
	parts   []item                 // content that is an array
	list    string                 // the same of a whole answer, raw
	extras  map[string]*extraField // other fields that have to return, by name
	order   []string               // names of extras in their order
	audio   audio
}

// extraField is one such field.
type extraField struct {
	escaped []byte // strings: JSON string contents, concatenated
	items   []item // arrays
	raw     string // anything else, and all of a whole answer
}

// returns reports whether providers want a field of an answer back in the history:
// reasoning under its many names, and thought signatures. Other fields (annotations,
// images) are for the reader only, and some providers refuse them.
func returns(field string) bool {
	switch field {
	case "refusal", "extra_content", "provider_specific_fields", "encrypted_content":
		return true
	}
	return strings.HasPrefix(field, "reasoning") || strings.HasPrefix(field, "thinking") || strings.HasPrefix(field, "thought")
}

// any reports whether the message has anything.
func (u *assistantMessage) any() bool {
	return u.content.Len() > 0 || len(u.parts) > 0 || u.list != "" || len(u.order) > 0 || u.audio.any()
}

// add adds one field of a delta, and returns how many bytes of it are kept.
func (u *assistantMessage) add(field string, v gjson.Result) (kept int) {
	switch {
	case field == "audio":
		return u.audio.add(v)
	case v.Type == gjson.String:
		return u.addEscaped(field, []byte(v.Raw[1:len(v.Raw)-1]))
	case field == "content" && v.IsArray():
		if u.content.Len() > 0 {
			u.parts, _ = mergeText(u.parts, []byte(u.content.String()))
			u.content = strictjson.Rope{}
		}
		u.parts, kept = mergeItems(u.parts, v)
	case returns(field):
		s, named := u.extra(field)
		kept = named + s.add(v)
	}
	return kept
}

// addEscaped adds string contents of a field that are still escaped, and returns how many
// bytes of them are kept.
func (u *assistantMessage) addEscaped(field string, escaped []byte) (kept int) {
	kept = len(escaped)
	switch {
	case field == "content" && len(u.parts) > 0:
		u.parts, kept = mergeText(u.parts, escaped)
	case field == "content":
		u.content.Add(escaped)
	case field == spokenField:
		u.audio.words.Add(escaped)
	case returns(field):
		s, named := u.extra(field)
		s.escaped = append(s.escaped, escaped...)
		kept += named
	default:
		return 0
	}
	return kept
}

// setField sets one field of a whole message.
func (u *assistantMessage) setField(field string, v gjson.Result) {
	switch {
	case field == "content" && v.IsArray():
		u.list = v.Raw
	case returns(field):
		s, _ := u.extra(field)
		s.raw = v.Raw
	default:
		u.add(field, v)
	}
}

// extra returns a field, which it adds if it is new, and how many bytes are kept of its name.
func (u *assistantMessage) extra(field string) (s *extraField, kept int) {
	if s = u.extras[field]; s == nil {
		if u.extras == nil {
			u.extras = make(map[string]*extraField)
		}
		field = strings.Clone(field) // it is a part of an event
		s = &extraField{}
		u.extras[field] = s
		u.order = append(u.order, field)
		kept = len(field) + itemCost
	}
	return s, kept
}

// add adds a value that is not a string, and returns how many bytes of it are kept.
func (s *extraField) add(v gjson.Result) (kept int) {
	kept = len(v.Raw)
	switch {
	case v.IsArray():
		if s.items == nil {
			s.items = []item{}
		}
		s.items, kept = mergeItems(s.items, v)
	case !strings.Contains(s.raw, "signature") || strings.Contains(v.Raw, "signature"):
		s.raw = strings.Clone(v.Raw) // the last one, if possible with a signature
	}
	return kept
}

func (s *extraField) value() string {
	switch {
	case s.items != nil:
		return joinItems(s.items)
	case s.escaped != nil:
		return `"` + string(s.escaped) + `"`
	}
	return s.raw
}

// written is the text of the message for the user.
func (u *assistantMessage) written() string {
	if content := u.contentValue(); content != "null" {
		return strictjson.ContentText(gjson.Parse(content))
	}
	return ""
}

// text is the text of the message for the user or, without any, the words of its sound.
func (u *assistantMessage) text() string { return cmp.Or(u.written(), u.audio.text()) }

// contentValue is the content as it returns to the provider.
func (u *assistantMessage) contentValue() string {
	switch {
	case u.list != "":
		return u.list
	case len(u.parts) > 0:
		return joinItems(u.parts)
	case u.content.Len() > 0:
		return `"` + u.content.String() + `"`
	}
	return "null"
}

// render renders the message with its calls, as it returns to the provider: with
// tool_calls in order, or with the legacy function_call.
func (u *assistantMessage) render(calls []*call, id func(*call) string) string {
	content := u.contentValue()
	if content == "null" && u.audio.id == "" && u.audio.any() {
		content = strictjson.Quote(u.audio.text())
	}
	var b strings.Builder
	b.WriteString(`{"role":"assistant","content":` + content)
	if u.audio.id != "" {
		b.WriteString(`,"audio":` + audioReference(u.audio.id))
	}
	for _, name := range u.order {
		b.WriteString("," + strictjson.Quote(name) + ":" + u.extras[name].value())
	}
	var entries []string
	for _, c := range calls {
		if c.isLegacy() {
			b.WriteString(`,"function_call":` + c.render("", c.input(), nil, c.inner))
			continue
		}
		entries = append(entries, c.entry(id(c)))
	}
	if entries != nil {
		b.WriteString(`,"tool_calls":[` + strings.Join(entries, ",") + "]")
	}
	b.WriteString("}")
	return b.String()
}

// entry renders the call as an entry of tool_calls in a request, with all other fields of
// its fragments, such as thought signatures.
func (c *call) entry(id string) string {
	return c.render(`"id":`+strictjson.Quote(id)+",", c.input(), c.own, c.inner)
}

// render renders the call from its first fields, its arguments as a JSON value, and the
// other fields in the entry and in the object with the name.
func (c *call) render(lead, arguments string, own, inner []string) string {
	body, input := "function", "arguments"
	if c.kind == kindCustom {
		body, input = "custom", "input"
	}
	named := `{"name":` + strictjson.Quote(c.name) + `,` + strictjson.Quote(input) + `:` + arguments + fieldList(inner) + "}"
	if c.isLegacy() {
		return named
	}
	return "{" + lead + `"type":` + strictjson.Quote(body) + `,` + strictjson.Quote(body) + `:` + named + fieldList(own) + "}"
}

// fieldList renders fields, as raw name and value, that follow others.
func fieldList(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return "," + strings.Join(fields, ",")
}

// input renders the arguments in the form that upstream used: a string or, at some
// servers, an object.
func (c *call) input() string {
	if c.object && c.whole() {
		return c.args.String()
	}
	return strictjson.Quote(c.args.String())
}

func (c *call) legacyResult(content string) string {
	return `{"role":"function","name":` + strictjson.Quote(c.name) + `,"content":` + strictjson.Quote(content) + `}`
}

// toolResult renders the message that answers a call.
func toolResult(id, content string) string {
	return `{"role":"tool","tool_call_id":` + strictjson.Quote(id) + `,"content":` + strictjson.Quote(content) + `}`
}
