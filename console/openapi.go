package console

import (
	"cmp"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/schema"
)

// object is a part of the OpenAPI document.
type object = schema.Object

// showOpenAPI answers the description of the API, made of its routes and types.
func (c *Console) showOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, c.api())
}

// describeAPI is the OpenAPI 3.1 document of routes.
func describeAPI(routes []route) object {
	types, known := schema.New(), exchanges()
	failure := object{
		"description": "what is wrong and what to do",
		"content":     object{problem.ContentType: object{"schema": types.Written(reflect.TypeFor[problem.Problem]())}},
	}
	paths := object{}
	for _, route := range routes {
		path, _ := paths[route.path].(object)
		if path == nil {
			path = object{}
			paths[route.path] = path
		}
		path[strings.ToLower(route.method)] = operation(route, known[route.method+" "+route.path], types)
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
				"session":     object{"type": "apiKey", "in": "cookie", "name": "heldcall_session", "description": "of a sign-in, together with its session_key; behind HTTPS __Host-heldcall_session"},
				"session_key": object{"type": "apiKey", "in": "header", "name": sessionKeyHeader, "description": "the key that the sign-in answered: the cookie, which other ports of the host get too, is worth nothing without it"},
			},
		},
	}
}

// pathParameter is a part of a path that stands for any text.
var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// operation describes one route.
func operation(r route, x exchange, types schema.Set) object {
	parameters := []object{}
	parameter := func(name, in string, required bool) {
		parameters = append(parameters, object{"name": name, "in": in, "required": required, "schema": object{"type": "string"}})
	}
	for _, match := range pathParameter.FindAllStringSubmatch(r.path, -1) {
		parameter(match[1], "path", true)
	}
	for _, name := range x.query {
		parameter(name, "query", false)
	}
	for _, name := range x.header {
		parameter(name, "header", false)
	}
	op := object{
		"operationId": operationID(r),
		"summary":     r.about,
		"responses":   object{"default": object{"$ref": "#/components/responses/Problem"}},
		"security":    []object{},
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.role != public {
		op["security"] = []object{{"token": []string{}}, {"session": []string{}, "session_key": []string{}}}
		op["x-heldcall-role"] = r.role
	}
	if x.body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": types.Read(x.body)}}}
	}
	done := object{"description": "done"}
	status := "204"
	if x.socket != nil {
		status = "101"
		done["description"] = "a WebSocket; each text frame is one message"
		done["x-heldcall-sends"] = messagesOf(types, x.socket.sends, types.WrittenFields, "type", "data")
		done["x-heldcall-receives"] = messagesOf(types, x.socket.receives, types.ReadFields, "type")
	}
	if x.reply != nil {
		status = "200"
		done["content"] = object{cmp.Or(x.media, "application/json"): object{"schema": types.Written(x.reply)}}
	}
	op["responses"].(object)[status] = done
	return op
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// operationID is a name for a route: get_api_v1_requests_id.
func operationID(r route) string {
	return strings.ToLower(r.method) + "_" + strings.Trim(notInNames.ReplaceAllString(r.path, "_"), "_")
}

// messagesOf is the schema of what goes over a WebSocket in one direction: one of
// several messages, told apart by their type. Each has a name of its own.
func messagesOf(types schema.Set, all []socketMessage, fields func(reflect.Type) object, required ...string) object {
	choices, mapping := []object{}, object{}
	for _, m := range all {
		message := fields(m.is)
		message["properties"].(object)["type"] = object{"const": m.name}
		message["required"] = required
		name := messageName(m.name)
		types.Named[name] = message
		reference := "#/components/schemas/" + name
		choices = append(choices, object{"$ref": reference})
		mapping[string(m.name)] = reference
	}
	return object{"oneOf": choices, "discriminator": object{"propertyName": "type", "mapping": mapping}}
}

// messageName is what a message is called in the document: AgentStatusMessage.
func messageName(of live.Type) string {
	var name strings.Builder
	for word := range strings.SplitSeq(string(of), "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Message"
}
