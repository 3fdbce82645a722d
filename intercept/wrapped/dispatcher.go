package wrapped

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// dispatcher is a tool that carries other calls: the names of its fields, of which a call has one
// each and nothing else.
type dispatcher struct {
	list      string   // the field of a list of calls, "": there is one
	server    string   // the field of an MCP server, "": none
	name      []string // of the tool
	arguments []string
}

var anyDispatcher = &dispatcher{name: []string{"name", "tool", "tool_name"}, arguments: []string{"arguments", "args", "parameters", "input"}}

// dispatchers are known dispatchers by name.
var dispatchers = map[string]*dispatcher{
	"tool_call":    anyDispatcher,
	"call_tool":    anyDispatcher,
	"execute_tool": anyDispatcher,
	"invoke_tool":  anyDispatcher,
	"batch":        {list: "tool_calls", name: []string{"tool"}, arguments: []string{"parameters"}},
	"use_mcp_tool": {server: "server_name", name: []string{"tool_name"}, arguments: []string{"arguments"}},
}

func (d *dispatcher) calls(arguments string) ([]intercept.Call, bool) {
	if strictjson.Strict([]byte(arguments)) != nil {
		return nil, false
	}
	all := []gjson.Result{gjson.Parse(arguments)}
	if d.list != "" {
		fields := all[0].Map()
		if !all[0].IsObject() || len(fields) != 1 || !fields[d.list].IsArray() {
			return nil, false
		}
		all = fields[d.list].Array()
	}
	var calls []intercept.Call
	for _, value := range all {
		c, ok := d.call(value)
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, len(calls) > 0
}

// call reads one call: each field once, and no other.
func (d *dispatcher) call(object gjson.Result) (c intercept.Call, ok bool) {
	known := object.IsObject()
	var servers, names, arguments []string
	object.ForEach(func(key, value gjson.Result) bool {
		switch {
		case slices.Contains(d.arguments, key.Str):
			arguments = append(arguments, objectText(value))
		case value.Type != gjson.String:
			known = false
		case slices.Contains(d.name, key.Str):
			names = append(names, value.Str)
		case d.server != "" && key.Str == d.server:
			servers = append(servers, value.Str)
		default:
			known = false
		}
		return true
	})
	if !known || len(names) != 1 || len(arguments) != 1 || arguments[0] == "" || !plainName(names[0]) {
		return c, false
	}
	c = intercept.Call{Name: names[0], Arguments: arguments[0]}
	if d.server == "" {
		return c, true
	}
	if len(servers) != 1 || !plainName(servers[0]) {
		return c, false
	}
	return ofServer(c, servers[0]), true
}

// ofServer returns the call of a tool of an MCP server.
func ofServer(c intercept.Call, server string) intercept.Call {
	c.Name = "mcp__" + server + "__" + c.Name
	if strings.Contains(server, "__") || strings.HasPrefix(server, "_") || strings.HasSuffix(server, "_") {
		c.Ambiguous = []string{"The name of its MCP server looks like that of another server and a tool of it."}
	}
	return c
}

// describedBy reports whether a definition is that of the dispatcher: its parameters are the fields that are read.
func (d *dispatcher) describedBy(tool intercept.Tool) bool {
	fields := gjson.ParseBytes(tool.Parameters).Get("properties")
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return fields.Get(name).IsObject() })
	}
	switch {
	case tool.FreeText:
		return false
	case d.list != "":
		return has(d.list)
	}
	return has(d.name...) && has(d.arguments...) && (d.server == "" || has(d.server))
}

// objectText returns the JSON of an object, which may be in a string, or "".
func objectText(value gjson.Result) string {
	switch {
	case value.IsObject():
		return value.Raw
	case value.Type == gjson.String && isObject(value.Str):
		return value.Str
	}
	return ""
}

// isObject reports whether a text is an object in strict JSON.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && strictjson.Strict([]byte(text)) == nil
}
