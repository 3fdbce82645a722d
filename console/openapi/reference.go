package openapi

import (
	"bytes"
	"cmp"
	_ "embed" // the page
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
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

// Route is the place of an operation in the document.
type Route struct{ Method, Path string }

// Reference returns the HTML page of the document, with the routes in an order.
func Reference(order []Route) ([]byte, error) {
	document, err := parse()
	if err != nil {
		return nil, err
	}
	var page struct {
		Routes []referenceRoute
		Types  []referenceNamed
	}
	for _, r := range order {
		page.Routes = append(page.Routes, referenceOf(r, document.Paths[r.Path][strings.ToLower(r.Method)]))
	}
	named := document.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(named)) {
		page.Types = append(page.Types, referenceNamed{name, named[name].fields()})
	}
	var text bytes.Buffer
	if err := referencePage.Execute(&text, page); err != nil {
		return nil, fmt.Errorf("write the reference: %w", err)
	}
	return text.Bytes(), nil
}

func referenceOf(r Route, op operation) referenceRoute {
	upgraded := op.Responses["101"]
	shown := referenceRoute{
		ID: op.OperationID, Method: r.Method, Path: r.Path, About: op.Summary, Role: op.Role,
		Body: op.RequestBody.shown(), Reply: op.Responses["200"].shown(), Sends: upgraded.Sends.choices(), Receives: upgraded.Receives.choices(),
	}
	for _, p := range op.Parameters {
		shown.Parameters = append(shown.Parameters, fmt.Sprintf("%s (%s)", p.Name, p.In))
	}
	return shown
}

func (c content) shown() *referenceType {
	for media, body := range c.Content {
		shown := body.Schema.shown()
		if media != "application/json" {
			shown.Before = media + ": " + shown.Before
		}
		return &shown
	}
	return nil
}

// choices are the messages that a schema has the choice of.
func (s schema) choices() (all []referenceType) {
	for _, choice := range s.OneOf {
		all = append(all, choice.shown())
	}
	return all
}

func (s schema) fields() (fields []referenceField) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		fields = append(fields, referenceField{name, s.Properties[name].shown(), slices.Contains(s.Required, name)})
	}
	return fields
}

func (s schema) shown() referenceType {
	switch {
	case s.Ref != "":
		return referenceType{Link: s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]}
	case s.Items != nil:
		item := s.Items.shown()
		return referenceType{"list of " + item.Before, item.Link, item.After}
	case s.Properties != nil:
		return s.shownFields()
	case s.Enum != nil:
		return referenceType{Before: strings.Join(s.Enum, " | ")}
	case s.Const != "":
		return referenceType{Before: fmt.Sprintf("%q", s.Const)}
	case s.Format != "":
		return referenceType{Before: "time, RFC 3339"}
	}
	return referenceType{Before: cmp.Or(s.Type, "any JSON value")}
}

// shownFields is an object with its fields, one of them with a link.
func (s schema) shownFields() referenceType {
	shown := referenceType{Before: "object: "}
	for i, field := range s.fields() {
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
}
