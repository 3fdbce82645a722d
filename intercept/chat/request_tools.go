package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Tool implements [intercept.Request].
func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	if name == "" {
		return tool, false
	}
	for t := range r.items("tools") {
		def, free := t.Get("function"), t.Get("type").Str == "custom"
		if free {
			def = t.Get("custom")
		}
		if def.Get("name").Str == name {
			return newTool(def, free), true
		}
	}
	for def := range r.items("functions") {
		if def.Get("name").Str == name {
			return newTool(def, false), true
		}
	}
	return tool, false
}

func newTool(def gjson.Result, free bool) intercept.Tool {
	tool := intercept.Tool{Description: def.Get("description").String(), FreeText: free}
	if p := def.Get("parameters"); p.IsObject() && !free {
		tool.Parameters = []byte(p.Raw)
	}
	return tool
}

// ToolNames implements [intercept.Request].
func (r *request) ToolNames() (names intercept.ToolNames) {
	for t := range r.items("tools") {
		name := t.Get("function.name")
		switch kind := t.Get("type").Str; kind {
		case "function":
		case "custom":
			name = t.Get("custom.name")
		case "":
		default: // some providers have calls of their own tools run by the agent
			names.All = append(names.All, strings.Clone(kind))
		}
		if !name.Exists() { // some servers take tools in the form of Responses
			name = t.Get("name")
		}
		if name.Str != "" {
			names.All = append(names.All, strings.Clone(name.Str))
		}
	}
	for def := range r.items("functions") {
		names.All = append(names.All, strings.Clone(def.Get("name").Str))
	}
	return names
}

// Offer implements [intercept.Request]. Requests with functions in the old form, and those for several
// choices, get none: their answers cannot continue.
func (r *request) Offer(tools []intercept.OfferedTool, always bool) []string {
	if r.several() || gjson.GetBytes(r.Field("functions"), "0").Exists() || (!always && !gjson.GetBytes(r.Field("tools"), "0").Exists()) {
		return nil
	}
	return r.OfferTools(tools, r.ToolNames().All, func(t *intercept.OfferedTool) string {
		return `{"type":"function","function":{"name":` + strictjson.Quote(t.Name) + `,"description":` + strictjson.Quote(t.Description) + `,"parameters":` + t.Parameters + "}}"
	}, r.SetBody)
}

// ForcedTools implements [intercept.Request].
func (r *request) ForcedTools() []string {
	tools, functions := r.Value("tools"), r.Value("functions")
	if forced := intercept.ForcedBy(r.Value("tool_choice"), tools, functions); len(forced) > 0 {
		return forced
	}
	return intercept.ForcedBy(r.Value("function_call"), tools, functions)
}

// Hosted implements [intercept.Request]. OpenAI hosts no tools in a list; many other
// providers of the API do.
func (r *request) Hosted() []intercept.HostedTool {
	var list []intercept.HostedTool
	if r.Tools.Others {
		for t := range r.items("tools") {
			if name := hostedName(t); name != "" {
				list = append(list, intercept.HostedTool{Name: name})
			}
		}
	}
	return append(list, r.HostedBeside()...)
}

// OffersTools implements [intercept.Request].
func (r *request) OffersTools() bool {
	return r.Tools.Len > 0 || r.Tools.Others || gjson.GetBytes(r.Field("functions"), "0").Exists() || len(r.HostedBeside()) > 0
}

// hostedName is the name of a tool that is not the agent's own, "" for one that is.
func hostedName(t gjson.Result) string {
	kind := t.Get("type")
	switch {
	case !t.IsObject():
		return t.String()
	case kind.Str == "function" || kind.Str == "custom":
		return ""
	case kind.Str == "mcp":
		return intercept.HostedMCP(t.Get("server_url").String(), t.Get("connector_id").String(), t.Get("server_label").String())
	case kind.String() != "":
		return kind.String()
	case t.Get("function").Exists() || t.Get("custom").Exists() || t.Get("name").Exists():
		return ""
	}
	name := t.Raw // tools of Gemini have no type: their one field is their name
	t.ForEach(func(field, _ gjson.Result) bool {
		name = field.Str
		return false
	})
	return name
}

// names reports whether a text contains the name of a tool of the request.
func (r *request) names(text string) bool {
	for _, field := range []string{"tools", "functions"} {
		for tool := range r.items(field) {
			for _, path := range []string{"function.name", "custom.name", "name"} {
				if name := tool.Get(path).String(); name != "" && strings.Contains(text, name) {
					return true
				}
			}
		}
	}
	return false
}
