// Package apidoc compares the documents of heldcall's interfaces, OpenAPI and AsyncAPI, which
// are written by hand, with the Go types that go over them.
package apidoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is one whose schemas are closed: values have no fields that it does not
// name.
type Document struct {
	OtherValues []string // that a text may have, of no type of its own

	compiler *jsonschema.Compiler
	text     any // as it is written, not closed
}

// where is what a document is called while its schemas are compiled.
const where = "heldcall:document"

// Open takes a document as the JSON text of it.
func Open(text []byte) (*Document, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	d := &Document{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(text, &d.text); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	closeObjects(document)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(where, document); err != nil {
		return nil, fmt.Errorf("take the document: %w", err)
	}
	return d, nil
}

// closeObjects closes every object of a document to fields that it does not name.
func closeObjects(value any) {
	switch v := value.(type) {
	case map[string]any:
		if v["type"] == "object" && v["properties"] != nil {
			v["additionalProperties"] = false
		}
		for _, part := range v {
			closeObjects(part)
		}
	case []any:
		for _, part := range v {
			closeObjects(part)
		}
	}
}

// Check returns how a JSON text violates the schema at a pointer, such as
// /components/schemas/Request.
func (d *Document) Check(pointer string, text []byte) error {
	compiled, err := d.compiler.Compile(where + "#" + pointer)
	if err != nil {
		return fmt.Errorf("compile %s: %w", pointer, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w: %s", err, text)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("it violates %s: %w\n%s", pointer, err, text)
	}
	return nil
}

// Part returns the object at a pointer, or what it refers to. It is nil if there is none.
func (d *Document) Part(pointer string) map[string]any {
	part := d.text
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := part.(map[string]any)
		part = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	object, _ := part.(map[string]any)
	return d.resolve(object)
}

func (d *Document) resolve(object map[string]any) map[string]any {
	if to, ok := object["$ref"].(string); ok {
		return d.Part(strings.TrimPrefix(to, "#"))
	}
	return object
}

// Pointer returns the pointer to a part, by the names that lead to it.
func Pointer(names ...string) string {
	var pointer strings.Builder
	for _, name := range names {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return pointer.String()
}
