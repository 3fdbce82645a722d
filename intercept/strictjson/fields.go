package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// Fields are top-level fields of a request body that is one strict JSON object, as spans
// of its bytes: nothing is re-encoded.
type Fields struct {
	body  []byte
	names []string
	at    []Span // by name; empty if absent
	found uint   // the marks that may be present, as bits
}

// ReadFields reads a body strictly, once, and finds the fields with the given names. The
// error has the mistake and its place: the names of the members around it, and no value.
func ReadFields(body []byte, names ...string) (Fields, error) {
	return ScanFields(body, names, nil)
}

// ScanFields also reports which of some marks may be a string anywhere below the top
// level, and reads the items of some fields in the same pass.
func ScanFields(body []byte, names, marks []string, lists ...List) (Fields, error) {
	f := Fields{body: body, names: names, at: make([]Span, len(names))}
	q := quick{b: body, marks: marks, lists: lists}
	if q.at(q.space(0)) == '{' && q.whole(f.note) {
		f.found = q.found
		return f, nil
	}
	clear(f.at)
	f.found = 1<<len(marks) - 1
	err := f.decode()
	if err == nil {
		for _, list := range lists {
			list.Items.Reset()
			readItems(f.Raw(list.Field), list.Items)
		}
	}
	return f, err
}

func (f *Fields) note(name []byte, value Span) {
	for i := range f.names {
		if f.names[i] == string(name) {
			f.at[i] = value
		}
	}
}

// decode reads a body that the quick reader has left to the decoder.
func (f *Fields) decode() error {
	body := f.body
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return errors.New("it is not one JSON object")
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return positioned(body, err)
		}
		name := tok.String()
		value, err := dec.ReadValue()
		if err != nil {
			return positioned(body, err)
		}
		end := int(dec.InputOffset())
		f.note([]byte(name), Span{end - len(value), end})
	}
	if _, err := dec.ReadToken(); err != nil {
		return positioned(body, err)
	}
	if len(bytes.Trim(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// maxPath bounds the path in an error, in bytes.
const maxPath = 200

// positioned is the error with the reason and the place at which strict decoding stopped: the path, and the byte in the
// body.
func positioned(body []byte, err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return errors.New("it is not strict JSON: it ends too early")
	}
	path := string(syntax.JSONPointer)
	if len(path) > maxPath {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxPath:], "")
	}
	at := int(syntax.ByteOffset)
	reason := "its syntax is wrong"
	switch text := body[min(at, len(body)):]; {
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = "an object has a name twice"
	case halfEscape.Match(text):
		reason = "a string has half of a surrogate pair, which is no character: half of an emoji, as texts have that are cut"
	case len(text) > 0 && !utf8.FullRune(text), len(text) > 0 && invalidRune(text):
		reason = "a string is not UTF-8"
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it ends too early"
	}
	return fmt.Errorf("it is not strict JSON: %s, at %q, byte %d", reason, path, at)
}

// halfEscape is the escape of a half of a surrogate pair.
var halfEscape = regexp.MustCompile(`^\\u[dD][89a-fA-F]`)

func invalidRune(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return r == utf8.RuneError && n == 1
}

// Raw is the value of a field, nil if it is absent. It aliases the body.
func (f *Fields) Raw(name string) []byte {
	at, ok := f.At(name)
	if !ok {
		return nil
	}
	return f.body[at.Start:at.End:at.End]
}

// MayHave reports whether the i-th mark may be anywhere below the top level, as a name or
// as a value.
func (f *Fields) MayHave(i int) bool { return f.found&(1<<i) != 0 }

// At returns the place of the value of a field in the body.
func (f *Fields) At(name string) (at Span, ok bool) {
	for i := range f.names {
		if f.names[i] == name {
			return f.at[i], f.at[i].End > 0
		}
	}
	return Span{}, false
}

// Replace returns the body with the bytes of a span replaced.
func Replace(body []byte, at Span, with []byte) []byte {
	out := make([]byte, 0, len(body)-(at.End-at.Start)+len(with))
	out = append(out, body[:at.Start]...)
	out = append(out, with...)
	return append(out, body[at.End:]...)
}

// SetField returns body, which is one strict JSON object, with a field set to a value: in
// its place, or after the others if it is absent. All other bytes are kept.
func SetField(body []byte, name string, raw []byte) ([]byte, error) {
	f, err := ReadFields(body, name)
	if err != nil {
		return nil, err
	}
	if at, ok := f.At(name); ok {
		return Replace(body, at, raw), nil
	}
	end := bytes.LastIndexByte(body, '}')
	field := Quote(name) + ":" + string(raw)
	if inner := bytes.TrimRight(body[:end], " \t\r\n"); inner[len(inner)-1] != '{' {
		field = "," + field
	}
	return Replace(body, Span{end, end}, []byte(field)), nil
}

// ReplaceItems returns a JSON array with its items replaced. The bytes between them stay if they are
// as many as those of the array.
func ReplaceItems(array string, items []string) string {
	var b strings.Builder
	old := gjson.Parse(array)
	list := old.Array()
	if !old.IsArray() || len(list) != len(items) {
		return "[" + strings.Join(items, ",") + "]"
	}
	end := 0
	for i, item := range list {
		start := end + strings.Index(array[end:], item.Raw)
		b.WriteString(array[end:start] + items[i])
		end = start + len(item.Raw)
	}
	return b.String() + array[end:]
}

// AppendItems returns the array raw, which is strict JSON, with items appended.
func AppendItems(raw []byte, items ...string) []byte {
	if len(items) == 0 {
		return raw
	}
	end := bytes.LastIndexByte(raw, ']')
	out := append(make([]byte, 0, len(raw)+256), raw[:end]...)
	comma := len(bytes.TrimSpace(raw[bytes.IndexByte(raw, '[')+1:end])) > 0
	for _, item := range items {
		if comma {
			out = append(out, ',')
		}
		out = append(out, item...)
		comma = true
	}
	return append(out, raw[end:]...)
}
