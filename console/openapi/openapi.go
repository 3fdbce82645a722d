// Package openapi describes the routes of an HTTP API: as an OpenAPI 3.1 document,
// made of the Go types that go over them, and as a page for people. To read it:
// Route, Describe, then reference.go.
package openapi

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/console/sessions"
	"github.com/heldcall/heldcall/internal/schema"
)

type object = schema.Object

// Route is one route of the API, and what goes in and out by it.
type Route struct {
	Method, Path string
	Role         reviewers.Role // that the sender needs; "" is none
	About        string
	Exchange
}

// Exchange are the inputs and outputs of a route. Zero fields are nothing.
type Exchange struct {
	Query  []string // names of parameters, all optional texts
	Header []string // the same
	Body   reflect.Type
	Reply  reflect.Type
	Media  string        // of the reply; "": JSON
	Socket *Conversation // that the route upgrades to
}

// Conversation are the messages of a WebSocket, as the console sends and receives
// them.
type Conversation struct{ Sends, Receives []Message }

// Message is one message of a WebSocket.
type Message struct {
	Name live.Type
	Is   reflect.Type // a live.Message
}

// Describe returns the OpenAPI document of routes.
func Describe(routes []Route) schema.Object {
	types := schema.New()
	failure := object{
		"description": "the error, and how to correct it",
		"content":     object{problem.ContentType: object{"schema": types.Written(reflect.TypeFor[problem.Problem]())}},
	}
	paths := object{}
	for _, route := range routes {
		path, _ := paths[route.Path].(object)
		if path == nil {
			path = object{}
			paths[route.Path] = path
		}
		path[strings.ToLower(route.Method)] = operation(route, types)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "heldcall", "version": "v1",
			"description": "The control plane of heldcall: requests of agents' tool calls, and people's decisions.",
		},
		"paths": paths,
		"components": object{
			"schemas":   types.Named,
			"responses": object{"Problem": failure},
			"securitySchemes": object{
				"token":       object{"type": "http", "scheme": "bearer", "description": "a reviewer's token"},
				"session":     object{"type": "apiKey", "in": "cookie", "name": "heldcall_session", "description": "of a sign-in, with its session_key; with HTTPS the name is __Host-heldcall_session"},
				"session_key": object{"type": "apiKey", "in": "header", "name": sessions.KeyHeader, "description": "the key in the answer to the sign-in: the cookie, which other ports of the host receive too, is not valid without it"},
			},
		},
	}
}

// pathParameter is a part of a path that matches any text.
var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func operation(r Route, types schema.Set) object {
	parameters := []object{}
	parameter := func(name, in string, required bool) {
		parameters = append(parameters, object{"name": name, "in": in, "required": required, "schema": object{"type": "string"}})
	}
	for _, match := range pathParameter.FindAllStringSubmatch(r.Path, -1) {
		parameter(match[1], "path", true)
	}
	for _, name := range r.Query {
		parameter(name, "query", false)
	}
	for _, name := range r.Header {
		parameter(name, "header", false)
	}
	op := object{
		"operationId": operationID(r),
		"summary":     r.About,
		"responses":   object{"default": object{"$ref": "#/components/responses/Problem"}},
		"security":    []object{},
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.Role != "" {
		op["security"] = []object{{"token": []string{}}, {"session": []string{}, "session_key": []string{}}}
		op["x-heldcall-role"] = r.Role
	}
	if r.Body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": types.Read(r.Body)}}}
	}
	done := object{"description": "done"}
	status := "204"
	if r.Socket != nil {
		status = "101"
		done["description"] = "a WebSocket; each text frame is one message"
		done["x-heldcall-sends"] = messagesOf(types, r.Socket.Sends, types.WrittenFields, "type", "data")
		done["x-heldcall-receives"] = messagesOf(types, r.Socket.Receives, types.ReadFields, "type")
	}
	if r.Reply != nil {
		status = "200"
		done["content"] = object{cmp.Or(r.Media, "application/json"): object{"schema": types.Written(r.Reply)}}
	}
	op["responses"].(object)[status] = done
	return op
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// operationID is a name for a route: get_api_v1_requests_id.
func operationID(r Route) string {
	return strings.ToLower(r.Method) + "_" + strings.Trim(notInNames.ReplaceAllString(r.Path, "_"), "_")
}

// messagesOf is the schema of the messages of a WebSocket in one direction: one of
// several, distinguished by their type. Each has a name of its own.
func messagesOf(types schema.Set, all []Message, fields func(reflect.Type) object, required ...string) object {
	choices, mapping := []object{}, object{}
	for _, m := range all {
		message := fields(m.Is)
		message["properties"].(object)["type"] = object{"const": m.Name}
		message["required"] = required
		name := MessageName(m.Name)
		types.Named[name] = message
		reference := "#/components/schemas/" + name
		choices = append(choices, object{"$ref": reference})
		mapping[string(m.Name)] = reference
	}
	return object{"oneOf": choices, "discriminator": object{"propertyName": "type", "mapping": mapping}}
}

// MessageName is the name of a message in the document: AgentStatusMessage.
func MessageName(of live.Type) string {
	var name strings.Builder
	for word := range strings.SplitSeq(string(of), "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Message"
}
