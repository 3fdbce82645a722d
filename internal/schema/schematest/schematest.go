// Package schematest checks written messages against the schemas in a document.
package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/heldcall/heldcall/internal/schema"
)

// Document is one whose schemas are closed: values have no fields that it does not
// name.
type Document struct{ compiler *jsonschema.Compiler }

// where is what a document is called while its schemas are compiled.
const where = "heldcall:document"

// Open takes a document as the JSON text of it.
func Open(text []byte) (*Document, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	closeObjects(document)
	d := &Document{jsonschema.NewCompiler()}
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

// Fill sets every field of a value.
func Fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			Fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		Fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		Fill(t, element)
		v.SetMapIndex(reflect.ValueOf("k"), element)
	case reflect.String:
		v.SetString("x")
		if known := schema.Values(v.Type()); known != nil {
			v.SetString(known[0])
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		t.Fatalf("a field of %s: teach Fill, and the schemas", v.Type())
	}
}
