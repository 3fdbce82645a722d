package conversation

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// orderedAtOnce is the size in bytes up to which a value is copied to be put in order.
	orderedAtOnce = 64 << 10
	// orderedDepth is how deep the parts of a larger value are put in order one by one. Each level reads it again.
	orderedDepth = 12
)

// cacheMark is the member that agents move between requests of a conversation. A mark is an object, or
// null; arguments and metadata may have a member of this name with another value, which counts.
const cacheMark = "cache_control"

// inOrder returns a value without white space and cache marks, with one spelling of each string, and with the
// members of all objects in the order of their names. Numbers stay as they are.
func inOrder(value []byte) (jsontext.Value, error) {
	sorted := jsontext.Value(bytes.Clone(value))
	if bytes.Contains(value, []byte(cacheMark)) {
		var unmarked bytes.Buffer
		if err := WriteCanonical(&unmarked, value); err != nil {
			return nil, err
		}
		sorted = unmarked.Bytes()
	}
	err := sorted.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false), jsontext.PreserveRawStrings(false), jsontext.ReorderRawObjects(true))
	return sorted, err
}

// writeInOrder writes what [inOrder] returns. Of a large value it copies small parts only, down to a depth.
func writeInOrder(w io.Writer, value jsontext.Value, depth int) error {
	if len(value) > orderedAtOnce && depth > 0 {
		switch value.Kind() {
		case '{':
			return writeObject(w, value, depth-1)
		case '[':
			return writeArray(w, value, depth-1)
		case '"':
			return writeText(w, value)
		}
	}
	ordered, err := inOrder(value)
	if err != nil {
		return err
	}
	_, err = w.Write(ordered)
	return err
}

func writeObject(w io.Writer, object jsontext.Value, depth int) error {
	members, err := sortedMembers(object)
	if err != nil {
		return err
	}
	mark := "{"
	for _, m := range members {
		name, err := jsontext.AppendQuote([]byte(mark), m.name)
		if err != nil {
			return err
		}
		_, _ = w.Write(append(name, ':'))
		if err := writeInOrder(w, m.value, depth); err != nil {
			return err
		}
		mark = ","
	}
	_, err = io.WriteString(w, strings.TrimPrefix(mark, ",")+"}")
	return err
}

func writeArray(w io.Writer, array jsontext.Value, depth int) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(array), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	mark := "["
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(w, mark)
		if err := writeInOrder(w, item, depth); err != nil {
			return err
		}
		mark = ","
	}
	_, err := io.WriteString(w, strings.TrimPrefix(mark, ",")+"]")
	return err
}

// writeText writes a string in pieces.
func writeText(w io.Writer, quoted jsontext.Value) error {
	if bytes.IndexByte(quoted, '\\') < 0 {
		_, err := w.Write(quoted)
		return err
	}
	_, _ = io.WriteString(w, `"`)
	piece := make([]byte, 0, orderedAtOnce+2)
	for rest := quoted[1 : len(quoted)-1]; len(rest) > 0; {
		n := textPiece(rest)
		piece = append(append(append(piece[:0], '"'), rest[:n]...), '"')
		ordered, err := inOrder(piece)
		if err != nil {
			return err
		}
		_, _ = w.Write(ordered[1 : len(ordered)-1])
		rest = rest[n:]
	}
	_, err := io.WriteString(w, `"`)
	return err
}

// pairBytes is the length of the longest sequence in a string that must stay together: two escapes of a surrogate
// pair.
const pairBytes = len(`\ud83d\ude00`)

// textPiece returns the length of a piece of the inside of a string that can be read alone.
func textPiece(text []byte) int {
	for n := orderedAtOnce; n < len(text); n++ {
		if utf8.RuneStart(text[n]) && bytes.IndexByte(text[n-pairBytes:n], '\\') < 0 {
			return n
		}
	}
	return len(text)
}

// member is a member of an object.
type member struct {
	name  string
	value jsontext.Value
}

// sortedMembers returns the members of an object in the order of their names, as [inOrder] has them, without a
// cache mark. They alias it.
func sortedMembers(object []byte) ([]member, error) {
	members, err := readMembers(object)
	if err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m member) bool { return m.name == cacheMark && isMark(m.value.Kind()) })
	slices.SortStableFunc(members, func(a, b member) int { return compareNames(a.name, b.name) })
	return members, nil
}

// compareNames compares names by their UTF-16 code units, as RFC 8785 does.
func compareNames(a, b string) int {
	if isASCII(a) || isASCII(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// isMark reports whether a member with the name of a cache mark is one, by the kind of its value.
func isMark(kind jsontext.Kind) bool { return kind == '{' || kind == 'n' }

// readMembers returns the members of an object, in their order. They alias it.
func readMembers(object []byte) (members []member, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errors.Join(err, errNoObject)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = dec.ReadValue(); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

var errNoObject = errors.New("it is no object")

// WriteCanonical writes a strict JSON value without white space and cache marks, and with
// one spelling of each string.
func WriteCanonical(w io.Writer, raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	enc := jsontext.NewEncoder(w, jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if token.Kind() == '"' {
			in, read := dec.StackIndex(dec.StackDepth())
			if in == '{' && read%2 == 1 && token.String() == cacheMark && isMark(dec.PeekKind()) {
				if err := dec.SkipValue(); err != nil {
					return err
				}
				continue
			}
		}
		if err := enc.WriteToken(token); err != nil {
			return err
		}
	}
}
