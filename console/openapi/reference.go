package openapi

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/schema"
)

//go:embed reference.html
var referenceHTML string

var referencePage = template.Must(template.New("reference").Parse(referenceHTML))

// ReferencePolicy is the Content-Security-Policy of the page: it loads nothing.
const ReferencePolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

type referenceRoute struct {
	ID, Method, Path, About, Role string
	Parameters                    []string
	Body, Reply                   *referenceType
	Sends, Receives               []referenceType // of a WebSocket, as the console does
}

type referenceNamed struct {
	Name   string
	Fields []referenceField
}

type referenceField struct {
	Name     string
	Type     referenceType
	Required bool
}

// referenceType is a type in a few words, with a link where it has a name.
type referenceType struct{ Before, Link, After string }

// Reference returns the HTML page of routes, made of the document that [Describe]
// returned for them.
func Reference(routes []Route, document schema.Object) ([]byte, error) {
	var page struct {
		Routes []referenceRoute
		Types  []referenceNamed
	}
	for _, r := range routes {
		op := document["paths"].(object)[r.Path].(object)[strings.ToLower(r.Method)].(object)
		page.Routes = append(page.Routes, referenceOf(r, op))
	}
	named := document["components"].(object)["schemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		page.Types = append(page.Types, referenceNamed{name, fieldsOf(named[name].(object))})
	}
	var text bytes.Buffer
	if err := referencePage.Execute(&text, page); err != nil {
		return nil, fmt.Errorf("write the reference: %w", err)
	}
	return text.Bytes(), nil
}

func referenceOf(r Route, op object) referenceRoute {
	shown := referenceRoute{ID: operationID(r), Method: r.Method, Path: r.Path, About: r.About, Role: string(r.Role)}
	parameters, _ := op["parameters"].([]object)
	for _, p := range parameters {
		shown.Parameters = append(shown.Parameters, fmt.Sprintf("%s (%s)", p["name"], p["in"]))
	}
	if body, ok := op["requestBody"].(object); ok {
		shown.Body = contentOf(body)
	}
	if done, ok := op["responses"].(object)["200"].(object); ok {
		shown.Reply = contentOf(done)
	}
	if upgraded, ok := op["responses"].(object)["101"].(object); ok {
		shown.Sends, shown.Receives = choicesOf(upgraded["x-heldcall-sends"]), choicesOf(upgraded["x-heldcall-receives"])
	}
	return shown
}

// choicesOf are the messages that a schema has the choice of.
func choicesOf(schema any) []referenceType {
	var all []referenceType
	for _, choice := range schema.(object)["oneOf"].([]object) {
		all = append(all, typeOf(choice))
	}
	return all
}

func contentOf(part object) *referenceType {
	for media, content := range part["content"].(object) {
		shown := typeOf(content.(object)["schema"].(object))
		if media != "application/json" {
			shown.Before = media + ": " + shown.Before
		}
		return &shown
	}
	return nil
}

func fieldsOf(schema object) []referenceField {
	properties := schema["properties"].(object)
	required, _ := schema["required"].([]string)
	var fields []referenceField
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fields = append(fields, referenceField{name, typeOf(properties[name].(object)), slices.Contains(required, name)})
	}
	return fields
}

func typeOf(schema object) referenceType {
	if ref, ok := schema["$ref"].(string); ok {
		return referenceType{Link: ref[strings.LastIndexByte(ref, '/')+1:]}
	}
	kind, _ := schema["type"].(string)
	switch {
	case kind == "array":
		item := typeOf(schema["items"].(object))
		return referenceType{"list of " + item.Before, item.Link, item.After}
	case kind == "object" && schema["properties"] != nil:
		shown := referenceType{Before: "object: "}
		for i, field := range fieldsOf(schema) {
			if i > 0 {
				shown.After += ", "
			}
			if shown.Link == "" && field.Type.Link != "" {
				shown.Before += shown.After + field.Name + " (" + field.Type.Before
				shown.Link, shown.After = field.Type.Link, field.Type.After+")"
				continue
			}
			shown.After += field.Name + " (" + field.Type.Before + field.Type.Link + field.Type.After + ")"
		}
		return shown
	case kind == "object":
		return referenceType{Before: "object"}
	case schema["enum"] != nil:
		return referenceType{Before: strings.Join(schema["enum"].([]string), " | ")}
	case schema["const"] != nil:
		return referenceType{Before: fmt.Sprintf("%q", schema["const"])}
	case schema["format"] != nil:
		return referenceType{Before: "time, RFC 3339"}
	case kind == "":
		return referenceType{Before: "any JSON value"}
	}
	return referenceType{Before: kind}
}
