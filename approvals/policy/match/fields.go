package match

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxReadings is the most texts of a call that deny and ask patterns are compared with.
const MaxReadings = 64

// Value is one JSON value: text is the content of a string, else its JSON.
type Value struct {
	Text   string
	Kind   jsontext.Kind
	Folded bool // found under a name in another letter case
}

// Member is one name of an object with its value.
type Member struct {
	Name string
	Raw  string // its value, as JSON
}

// Members returns the members of an object in order, up to invalid JSON. Names may repeat.
func Members(text string) []Member {
	var room [maxPlain]Member
	if plain, ok := plainMembers(text, room[:0]); ok {
		return append([]Member(nil), plain...)
	}
	dec := decodeString(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer dec.release()
	if dec.PeekKind() != '{' {
		return nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var found []Member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		m := Member{Name: name.String()}
		raw, err := dec.ReadValue()
		if err != nil {
			break
		}
		end := int(dec.InputOffset())
		m.Raw = text[end-len(raw) : end]
		found = append(found, m)
	}
	return found
}

// ValuesAt returns all values that a program may read in a field, however it treats repeated names
// and letter case. Null is absent.
func ValuesAt(members []Member, field []string) []Value {
	var found []Value
	folded := FoldCase(field[0])
	for _, m := range members {
		exact := m.Name == field[0]
		if !exact && FoldCase(m.Name) != folded {
			continue
		}
		var here [1]Value
		all := here[:0]
		switch {
		case len(field) > 1:
			all = ValuesAt(Members(m.Raw), field[1:])
		case m.Raw[0] != 'n':
			all = append(all, newValue(m.Raw))
		}
		for _, v := range all {
			v.Folded = v.Folded || !exact
			found = append(found, v)
		}
	}
	return found
}

// TextOf returns the content of a JSON string, else the value itself.
func TextOf(raw string) string {
	if raw[0] != '"' {
		return raw
	}
	return newValue(raw).Text
}

func newValue(raw string) Value {
	v := Value{Kind: jsontext.Value(raw[:1]).Kind()}
	if v.Kind == '"' {
		if text := raw[1 : len(raw)-1]; isPlain(text) && strings.IndexByte(text, '\\') < 0 {
			v.Text = text
			return v
		}
		if text, err := jsontext.AppendUnquote(nil, raw); err == nil || len(text) > 0 {
			v.Text = string(text)
			return v
		}
	}
	one := jsontext.Value(raw)
	_ = one.Format(jsontext.ReorderRawObjects(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v.Text = string(one)
	return v
}

// Elements returns the texts of an array of strings.
func (v Value) Elements() ([]string, bool) {
	var found []string
	dec := decodeString(v.Text)
	defer dec.release()
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		found = append(found, t.String())
	}
	return found, dec.PeekKind() == ']'
}

// Strings returns the string values of arguments and the names that are not plain, up to invalid
// JSON, and reports whether those are all.
func Strings(text string) (found []string, all bool) {
	dec := decodeString(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer dec.release()
	for {
		in, index := dec.StackIndex(dec.StackDepth())
		t, err := dec.ReadToken()
		if err != nil {
			return found, errors.Is(err, io.EOF)
		}
		if t.Kind() != '"' || (in == '{' && index%2 == 0 && IsPlainName(t.String())) {
			continue
		}
		if len(found) == MaxReadings {
			return found, false
		}
		found = append(found, t.String())
	}
}

// IsPlainName reports whether a name may be of a schema. Any other name, such as a path, is text by
// the model.
func IsPlainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// DecodeObject returns a strict object as Go's values: whole numbers as int64, others as
// float64. It is empty if the text is no such object.
func DecodeObject(text string) map[string]any {
	var object map[string]any
	if err := json.Unmarshal([]byte(OrEmptyObject(text)), &object, wholeNumbers()); err != nil || object == nil {
		return map[string]any{}
	}
	return object
}

// wholeNumbers decodes whole numbers as int64.
var wholeNumbers = sync.OnceValue(func() json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, to *any) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if whole, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			*to = whole
			return nil
		}
		*to, err = strconv.ParseFloat(string(raw), 64)
		return err
	}))
})
