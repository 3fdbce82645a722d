package chat

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// item is one item of an array that comes in pieces (reasoning_details of OpenRouter,
// thinking_blocks of LiteLLM, content parts of Mistral): an object whose texts grow, or
// any other value.
type item struct {
	raw    string // of any other value
	fields []itemField
	places map[string]int // of the fields by name, if there are many
}

// manyFields is how many fields of an item are searched one by one.
const manyFields = 16

type itemField struct {
	name  string // raw
	raw   string // "" for a string, and for items
	text  []byte // string contents, still escaped
	items []item // an array that grows
}

// itemCost is the approximate memory of an item, or of a field of one, besides its bytes.
const itemCost = 100

// mergeItems adds the items of a streamed array, and returns how many bytes are kept of it.
// An item that continues the last one becomes part of it; an empty text is ignored.
func mergeItems(items []item, more gjson.Result) (merged []item, kept int) {
	kept = len(more.Raw)
	more.ForEach(func(_, v gjson.Result) bool {
		if len(items) > 0 && v.Get("type").Str == "text" && v.Get("text").Raw == `""` {
			return true
		}
		if n := len(items); n == 0 || !items[n-1].continuedBy(v) {
			items = append(items, item{raw: strings.Clone(v.Raw)})
			kept += itemCost
		}
		if v.IsObject() {
			kept += items[len(items)-1].merge(v)
		}
		return true
	})
	return items, kept
}

// mergeText adds text, still escaped, to content that is an array.
func mergeText(items []item, escaped []byte) (merged []item, kept int) {
	return mergeItems(items, gjson.Parse(`[{"type":"text","text":"`+string(escaped)+`"}]`))
}

// continuedBy reports whether v is a further piece of the item: one of the same type and
// number or, where there are no numbers, more text or more of a thought without a
// signature.
func (m *item) continuedBy(v gjson.Result) bool {
	kind := v.Get("type").Raw
	if m.fields == nil || !v.IsObject() || !m.has(`"type"`, kind) {
		return false
	}
	if index := v.Get("index"); index.Exists() || m.find(`"index"`) >= 0 {
		return m.has(`"index"`, index.Raw)
	}
	unsigned := func(value string) bool { return m.has(`"signature"`, value) }
	return kind == `"text"` || (kind == `"thinking"` && slices.ContainsFunc([]string{"", `""`, "null"}, unsigned))
}

// merge adds the fields of a piece: it appends texts, and replaces other values by those
// that are not empty. It returns how many bytes are kept besides those of the piece.
func (m *item) merge(v gjson.Result) (kept int) {
	fieldCount := len(m.fields)
	v.ForEach(func(k, v gjson.Result) bool {
		f := m.field(k.Raw)
		switch {
		case (v.Type == gjson.Null || v.Raw == `""`) && f.filled():
		case v.IsArray() && k.Str == "thinking":
			items, more := mergeItems(f.items, v)
			f.items, kept = items, kept+more
		case v.Type != gjson.String:
			f.raw, f.text = strings.Clone(v.Raw), nil
		case f.raw != "" || !grows(k.Str):
			f.raw, f.text = "", []byte(v.Raw[1:len(v.Raw)-1])
		default:
			f.text = append(f.text, v.Raw[1:len(v.Raw)-1]...)
		}
		return true
	})
	return kept + itemCost*(len(m.fields)-fieldCount)
}

func grows(field string) bool {
	return field == "text" || field == "summary" || field == "data" || field == "thinking"
}

func (f *itemField) filled() bool { return f.raw != "" || len(f.text) > 0 || len(f.items) > 0 }

// field is the field with a name, which it adds if there is none.
func (m *item) field(name string) *itemField {
	n := len(m.fields)
	if i := m.find(name); i >= 0 {
		return &m.fields[i]
	}
	m.fields = append(m.fields, itemField{name: strings.Clone(name)})
	if n == manyFields {
		m.places = make(map[string]int)
		for i := range m.fields {
			m.places[m.fields[i].name] = i
		}
	} else if n > manyFields {
		m.places[m.fields[n].name] = n
	}
	return &m.fields[n]
}

// find is the place of the field with a name, -1 if there is none.
func (m *item) find(name string) int {
	if m.places == nil {
		return slices.IndexFunc(m.fields, func(f itemField) bool { return f.name == name })
	}
	if i, ok := m.places[name]; ok {
		return i
	}
	return -1
}

// has reports whether the field with a name has a raw value, and for "" whether there is none.
func (m *item) has(name, raw string) bool {
	i := m.find(name)
	if i < 0 || raw == "" {
		return i < 0 && raw == ""
	}
	f := &m.fields[i]
	if f.raw != "" || f.items != nil || raw[0] != '"' {
		return f.value() == raw
	}
	return raw[1:len(raw)-1] == string(f.text)
}

func (f *itemField) value() string {
	switch {
	case f.items != nil:
		return joinItems(f.items)
	case f.raw != "":
		return f.raw
	}
	return `"` + string(f.text) + `"`
}

func (m *item) render(b *strings.Builder) {
	if m.fields == nil {
		b.WriteString(m.raw)
		return
	}
	for i := range m.fields {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(m.fields[i].name + ":" + m.fields[i].value())
	}
	b.WriteByte('}')
}

func joinItems(items []item) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		items[i].render(&b)
	}
	b.WriteByte(']')
	return b.String()
}
