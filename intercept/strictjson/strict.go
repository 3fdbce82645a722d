// Package strictjson reads and edits JSON of servers and models that may be hostile. Every
// parser reads the JSON that it accepts alike, and it finds values that could be calls.
//
// Read strict.go and quick.go (the definition of strict JSON), fields.go and patch.go
// (fields are found and changed without touching another byte), shape.go and schema.go
// (forms of objects), halves.go and text.go (texts in pieces), suspicion.go, names.go and
// scan.go (values that could be calls).
package strictjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Strict checks that b is exactly one JSON value that every parser reads alike: RFC 8259
// with valid UTF-8, names that are unique in each object after unescaping, and nothing
// after the value. Such a value may be searched and edited with gjson and sjson.
func Strict(b []byte) error {
	if isQuick(b) || jsontext.Value(b).IsValid() {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if err := dec.SkipValue(); err != nil {
		return fmt.Errorf("not strict JSON: %w", err)
	}
	return errTrailing
}

// maxNesting is the depth at which some parsers stop.
const maxNesting = 64

// Deep reports whether strict JSON nests so deep that some parsers refuse it.
func Deep(b []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return false // at its end
		}
		if dec.StackDepth() > maxNesting {
			return true
		}
	}
}

// ArgumentsCheck reads the arguments of a call that passes in fragments, and reports the
// first fragment with which they can no longer become one strict JSON object.
type ArgumentsCheck struct {
	feed feed
	half string // at the end of the last fragment, see [CutHalf]
	dec  *jsontext.Decoder
	done bool
}

// NewArgumentsCheck returns a check without fragments.
func NewArgumentsCheck() *ArgumentsCheck {
	c := &ArgumentsCheck{}
	c.dec = jsontext.NewDecoder(&c.feed)
	return c
}

// Add takes the next fragment of the arguments' text.
func (c *ArgumentsCheck) Add(fragment string) error {
	fragment, c.half = CutHalf(c.half + fragment)
	c.feed.pending = append(c.feed.pending, fragment...)
	for !c.done {
		tok, err := c.dec.ReadToken()
		switch {
		case errors.Is(err, errStarved):
			return nil
		case err != nil:
			return fmt.Errorf("not strict JSON: %w", err)
		case c.dec.StackDepth() == 0 && tok.Kind() != '}':
			return errors.New("not a JSON object")
		case c.dec.StackDepth() == 1 && tok.Kind() == '[':
			return errors.New("not a JSON object")
		}
		c.done = c.dec.StackDepth() == 0
	}
	if !blank(c.dec.UnreadBuffer()) || !blank(c.feed.pending) || c.half != "" {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("not strict JSON: something follows the value")

func blank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n")) == 0 }

// errStarved is the error of a feed without bytes. For the decoder it is a temporary error
// of the reader, after which it can continue.
var errStarved = errors.New("no more bytes yet")

type feed struct{ pending []byte }

func (f *feed) Read(p []byte) (int, error) {
	if len(f.pending) == 0 {
		return 0, errStarved
	}
	n := copy(p, f.pending)
	f.pending = f.pending[:copy(f.pending, f.pending[n:])]
	return n, nil
}
