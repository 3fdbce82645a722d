// Package strictjson reads and edits JSON of servers and models that may be hostile. Every
// parser reads the JSON that it accepts alike, and it finds values that could be calls.
//
// Read strict.go and quick.go (the definition of strict JSON), fields.go and patch.go
// (fields are found and changed without touching another byte), shape.go and schema.go
// (forms of objects), halves.go, growing.go and text.go (texts in pieces), suspicion.go,
// names.go and scan.go (values that could be calls).
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

var errTrailing = errors.New("not strict JSON: something follows the value")
