package intercept

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields are top-level fields of a request body that is one strict JSON object,
// as stretches of its bytes: nothing is re-encoded.
type Fields struct {
	body []byte
	at   map[string]Span
}

// ReadFields reads a body strictly and finds the fields with the given names. The
// error says what is wrong and where, and quotes nothing.
func ReadFields(body []byte, names ...string) (Fields, error) {
	f := Fields{body: body, at: make(map[string]Span, len(names))}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return f, errors.New("it is not one JSON object")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return f, positioned(dec)
		}
		field := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return f, positioned(dec)
		}
		if slices.Contains(names, field) {
			end := int(dec.InputOffset())
			f.at[field] = Span{end - len(value), end}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return f, positioned(dec)
	}
	if len(bytes.Trim(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return f, errors.New("something stands behind the JSON object")
	}
	return f, nil
}

// positioned says where strict decoding stopped, without quoting the body.
func positioned(dec *jsontext.Decoder) error {
	return fmt.Errorf("it is not strict JSON (duplicate name, invalid UTF-8 or syntax) after byte %d", dec.InputOffset())
}

// Raw is the value of a field as it stands in the body, nil where it is absent.
// It aliases the body.
func (f *Fields) Raw(name string) []byte {
	at, ok := f.at[name]
	if !ok {
		return nil
	}
	return f.body[at.Start:at.End:at.End]
}

// At is where the value of a field stands in the body.
func (f *Fields) At(name string) (at Span, ok bool) {
	at, ok = f.at[name]
	return at, ok
}

// Replace returns the body with the bytes of a span replaced; all others stay.
func Replace(body []byte, at Span, with []byte) []byte {
	out := make([]byte, 0, len(body)-(at.End-at.Start)+len(with))
	out = append(out, body[:at.Start]...)
	out = append(out, with...)
	return append(out, body[at.End:]...)
}

// SetField returns body, which is one strict JSON object, with a field set to a
// value: in place, or behind the others where it has none. All other bytes stay.
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

// AppendItems returns the array raw, which is strict JSON, with items put behind
// those that it has.
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
