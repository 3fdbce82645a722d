package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchema is the largest parameter schema that is compiled, in bytes.
const maxSchema = 256 << 10

// errUnchecked is the error for arguments on which the validator itself fails.
var errUnchecked = errors.New("the arguments cannot be checked against the tool's schema")

// Check returns an error if arguments break the parameter schema of their tool. It returns
// nil for a schema that cannot be used: see [Cache.Warnings].
func Check(schema, args json.RawMessage) (err error) {
	compiled, err := compileSchema(schema, compilePattern)
	if err != nil || compiled == nil {
		return nil
	}
	defer func() { // the validator may panic on hostile input
		if p := recover(); p != nil {
			err = errUnchecked
		}
	}()
	if err := scanArguments(args); err != nil {
		return fmt.Errorf("%w: %w", errUnchecked, err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return err
	}
	if !checkable(compiled, instance) {
		return nil // like a schema that cannot be compiled
	}
	var invalid *jsonschema.ValidationError
	switch err := compiled.Validate(instance); {
	case errors.As(err, &invalid):
		return fmt.Errorf("they break the tool's schema: %s", firstBreak(invalid))
	default:
		return err
	}
}

// firstBreak returns the first error of a validation in one line, with its place.
func firstBreak(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	reason := e.Error()
	if i := strings.LastIndex(reason, ": "); i >= 0 {
		reason = reason[i+2:]
	}
	return fmt.Sprintf("at /%s: %s", strings.Join(e.InstanceLocation, "/"), reason)
}

// compileSchema compiles the schema of an agent, and its patterns by an engine. It returns
// nil for an empty schema, and follows no references to other documents.
func compileSchema(schema json.RawMessage, engine jsonschema.RegexpEngine) (compiled *jsonschema.Schema, err error) {
	if s := string(bytes.TrimSpace(schema)); s == "" || s == "null" {
		return nil, nil
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the schema is larger than %d bytes", maxSchema)
	}
	if err := scanSchema(schema); err != nil {
		return nil, err
	}
	defer func() { // the compiler may panic on hostile input
		if p := recover(); p != nil {
			compiled, err = nil, fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	const name = "heldcall:tool"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noLoader refuses every reference to another document.
type noLoader struct{}

// Load returns an error.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: references to other documents are not followed", url)
}
