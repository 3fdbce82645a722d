// Package openapi is pure: it has the OpenAPI 3.1 document of the control plane, which is written by
// hand (openapi.json), and makes a page for people of it. The tests of console compare it with the
// routes and with the Go types that go over them.
package openapi

import (
	_ "embed" // the document
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed openapi.json
var document []byte

// Document returns the document as compact JSON on one line.
func Document() ([]byte, error) {
	text := jsontext.Value(document).Clone()
	if err := text.Compact(); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return append(text, '\n'), nil
}

// described has the parts of the document that the page shows.
type described struct {
	Paths      map[string]map[string]operation // by path and method
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Role        string `json:"x-heldcall-role"`
	Parameters  []struct{ Name, In string }
	RequestBody content `json:"requestBody"`
	Responses   map[string]content
}

// content is a body, by its media type, and the messages of a WebSocket.
type content struct {
	Content  map[string]struct{ Schema schema }
	Sends    schema `json:"x-heldcall-sends"`
	Receives schema `json:"x-heldcall-receives"`
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Const      string
	Enum       []string
	Items      *schema
	Properties map[string]schema
	Required   []string
	OneOf      []schema
}

func parse() (d described, err error) {
	if err := json.Unmarshal(document, &d); err != nil {
		return d, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return d, nil
}
