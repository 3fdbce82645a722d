package responses

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// Tool implements [intercept.Request]. A tool in a namespace is called by both
// names, with a point between them.
func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	namespace, rest, _ := strings.Cut(name, ".")
	tools := gjson.ParseBytes(r.Field("tools"))
	if t := findTool(tools, "", name); t.Exists() {
		return newTool(t), true
	}
	if t := findTool(tools, namespace, rest); t.Exists() && rest != "" {
		return newTool(t), true
	}
	for _, f := range forms { // tools that have no name but their type's
		if f.tool == name && name != "" {
			tools.ForEach(func(_, t gjson.Result) bool {
				found = strings.HasPrefix(t.Get("type").Str, name)
				tool = newTool(t)
				return !found
			})
		}
	}
	return tool, found
}

// findTool looks for a tool of the agent's own.
func findTool(tools gjson.Result, namespace, name string) (tool gjson.Result) {
	tools.ForEach(func(_, t gjson.Result) bool {
		switch t.Get("type").Str {
		case "function", "custom":
			if namespace == "" && name != "" && t.Get("name").Str == name {
				tool = t
			}
		case "namespace":
			if namespace != "" && t.Get("name").Str == namespace {
				tool = findTool(t.Get("tools"), "", name)
			}
		}
		return !tool.Exists()
	})
	return tool
}

func newTool(t gjson.Result) intercept.Tool {
	tool := intercept.Tool{Description: t.Get("description").String(), FreeText: t.Get("type").Str == "custom"}
	if p := t.Get("parameters"); p.IsObject() {
		tool.Parameters = []byte(p.Raw)
	}
	return tool
}

// tools are those that the model was offered: by the request or, where that only
// asks for a response, as upstream repeats them.
func (a *answer) tools() gjson.Result {
	if a.req.id == "" || a.object == nil {
		return gjson.ParseBytes(a.req.Field("tools"))
	}
	return gjson.Parse(a.object.tools)
}

// offers reports whether the model was offered a tool of the agent's own.
func (a *answer) offers(namespace, name string) bool {
	return findTool(a.tools(), namespace, name).Exists()
}

// searchesX reports whether the model was offered xAI's own search.
func (a *answer) searchesX() (offered bool) {
	a.tools().ForEach(func(_, t gjson.Result) bool {
		offered = t.Get("type").Str == "x_search"
		return !offered
	})
	return offered
}

// hostsShell reports whether the model was offered a shell in a container of the
// provider's, and no other one.
func (a *answer) hostsShell() bool {
	hosted, other := false, false
	a.tools().ForEach(func(_, t gjson.Result) bool {
		if t.Get("type").Str == "shell" {
			in := inContainer(t)
			hosted, other = hosted || in, other || !in
		}
		return true
	})
	return hosted && !other
}

func inContainer(t gjson.Result) bool {
	return strings.HasPrefix(t.Get("environment.type").Str, "container")
}

// Hosted implements [intercept.Request].
func (r *request) Hosted() (list []intercept.HostedTool) {
	gjson.ParseBytes(r.Field("tools")).ForEach(func(_, t gjson.Result) bool {
		switch typ := t.Get("type").Str; typ {
		case "function", "custom", "namespace", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "":
		case "shell":
			if inContainer(t) {
				list = append(list, intercept.HostedTool{Name: typ})
			}
		case "tool_search":
			if t.Get("execution").Str != "client" {
				list = append(list, intercept.HostedTool{Name: typ})
			}
		case "mcp":
			list = append(list, intercept.HostedTool{Name: "mcp:" + t.Get("server_label").Str, Asks: !asksNever(t)})
		default:
			list = append(list, intercept.HostedTool{Name: typ})
		}
		return true
	})
	return list
}

// asksNever reports whether the provider runs some tools of an MCP server without
// asking. Where the offer says nothing, it asks.
func asksNever(t gjson.Result) bool {
	v := t.Get("require_approval")
	switch {
	case v.Type == gjson.Null, v.Str == "always":
		return false
	case v.IsObject():
		return v.Get("never").Exists()
	}
	return true
}

// RequireApproval implements [intercept.Request].
func (r *request) RequireApproval() (changed int) {
	at, ok := r.At("tools")
	if !ok {
		return 0
	}
	tools := gjson.ParseBytes(r.Field("tools"))
	p := intercept.Patch{JSON: tools.Raw}
	n := 0
	tools.ForEach(func(_, t gjson.Result) bool {
		if t.Get("type").Str == "mcp" && asksNever(t) {
			p.Set(strconv.Itoa(n)+".require_approval", `"always"`)
			changed++
		}
		n++
		return true
	})
	if changed == 0 || p.Err != nil || r.rewrite(intercept.Replace(r.envelope.Body, at, []byte(p.JSON))) != nil {
		return 0
	}
	return changed
}
