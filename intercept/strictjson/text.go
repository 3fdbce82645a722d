package strictjson

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Quote renders s as a JSON string with the necessary escapes only. Invalid UTF-8 is
// replaced.
func Quote(s string) string {
	q, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		q, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(q)
}

// Unquote writes the contents of a strict JSON string (without its quotes), unescaped.
func Unquote(b *strings.Builder, escaped []byte) {
	if bytes.Contains(escaped, []byte(`\u`)) {
		b.WriteString(gjson.Parse(`"` + string(escaped) + `"`).Str)
		return
	}
	for {
		i := bytes.IndexByte(escaped, '\\')
		if i < 0 {
			b.Write(escaped)
			return
		}
		b.Write(escaped[:i])
		c := escaped[i+1]
		if j := strings.IndexByte("bfnrt", c); j >= 0 {
			c = "\b\f\n\r\t"[j]
		}
		b.WriteByte(c)
		escaped = escaped[i+2:]
	}
}

// Inner returns the place of the contents of a string value, without its quotes, in the
// text from which it was parsed.
func Inner(v gjson.Result) Span {
	return Span{Start: v.Index + 1, End: v.Index + len(v.Raw) - 1}
}

// Paragraph returns text as it follows the text before it: after an empty line, unless
// that is empty or ends a line.
func Paragraph(before, text string) string {
	if before == "" || text == "" || strings.HasSuffix(before, "\n") {
		return text
	}
	return "\n\n" + text
}

// MadeUpID is the id, in messages to the model, of a call to which upstream gave none. It
// depends on turn and position only.
func MadeUpID(turn string, position int) string {
	return "call_" + turn + "_" + strconv.Itoa(position)
}

// Rope is text that grows by small pieces and is not copied as it grows. The zero value is
// empty.
type Rope struct {
	full [][]byte
	last []byte
	size int
}

// Add appends p, of which it keeps a copy.
func (r *Rope) Add(p []byte) {
	if len(r.last)+len(p) > cap(r.last) {
		if len(r.last) > 0 {
			r.full = append(r.full, r.last)
		}
		r.last = make([]byte, 0, max(len(p), min(2*cap(r.last), 8<<10), 128))
	}
	r.last = append(r.last, p...)
	r.size += len(p)
}

// Len is the length of the text in bytes.
func (r *Rope) Len() int { return r.size }

// String is the text.
func (r *Rope) String() string {
	var b strings.Builder
	b.Grow(r.size)
	for _, p := range r.full {
		b.Write(p)
	}
	b.Write(r.last)
	return b.String()
}

// ContentText is the text of a content field: a string, or the text parts of an array.
func ContentText(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").String())
		return true
	})
	return b.String()
}

// Annotated is a content field, a string or an array of parts, after a note.
func Annotated(content gjson.Result, note string) string {
	if !content.IsArray() {
		return Quote(note + "\n" + content.String())
	}
	items := strings.TrimSpace(content.Raw[1 : len(content.Raw)-1])
	if items != "" {
		items = "," + items
	}
	return `[{"type":"text","text":` + Quote(note) + "}" + items + "]"
}
