package intercepttest

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value as lenient parsers read it: duplicate names and invalid UTF-8 are
// kept.
type Node struct {
	Kind    jsontext.Kind
	Text    string
	Members []Member
	Items   []Node
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value Node
}

// Lenient reads one JSON value from the front of b, whatever follows it.
func Lenient(b []byte) (Node, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n, err := readNode(dec)
	return n, err == nil
}

func readNode(dec *jsontext.Decoder) (n Node, err error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return n, err
	}
	switch n.Kind = tok.Kind(); n.Kind {
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return n, err
			}
			m := Member{Name: name.String()}
			if m.Value, err = readNode(dec); err != nil {
				return n, err
			}
			n.Members = append(n.Members, m)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			item, err := readNode(dec)
			if err != nil {
				return n, err
			}
			n.Items = append(n.Items, item)
		}
		_, err = dec.ReadToken()
	default:
		n.Text = tok.String()
	}
	return n, err
}

// All returns the values of all members with one of the names in any letter case,
// duplicates too.
func (n Node) All(names ...string) (values []Node) {
	for _, m := range n.Members {
		for _, name := range names {
			if strings.EqualFold(m.Name, name) {
				values = append(values, m.Value)
			}
		}
	}
	return values
}

// Filled reports whether the value contains anything.
func (n Node) Filled() bool {
	switch n.Kind {
	case '{':
		return len(n.Members) > 0
	case '[':
		return len(n.Items) > 0
	case 'n':
		return false
	}
	return n.Text != ""
}

// Leak searches the bytes that the agent got for an object that is or contains a call by
// isCall. Every brace begins an object for it: after data:, in a comment, inside other
// objects, over several lines, in the joined data of an event. It returns the text from
// that object on.
func Leak(out []byte, isCall func(Node) bool) string {
	for _, b := range [][]byte{out, bytes.ReplaceAll(out, []byte("data:"), nil)} {
		for i, c := range b {
			if c != '{' {
				continue
			}
			if n, ok := Lenient(b[i:]); ok && isCall(n) {
				return string(b[i:])
			}
		}
	}
	return ""
}
