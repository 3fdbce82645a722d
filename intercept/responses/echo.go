package responses

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/toolname"
)

// offered is [intercept.Limits.Offered]. Upstream repeats the tools of the request in each
// response. The agent gets the list without those that heldcall has offered.
type offered func(name, description, parameters string) bool

// ownTools returns the list of a response without the tools of heldcall, "" if it has none
// of them.
func (is offered) ownTools(o *object) string {
	if is == nil || o == nil || o.tools == "" {
		return ""
	}
	agentTools := []string{}
	tools := gjson.Parse(o.tools).Array()
	for _, t := range tools {
		if !is.tool(t) {
			agentTools = append(agentTools, t.Raw)
		}
	}
	if len(agentTools) == len(tools) {
		return ""
	}
	return string(list(agentTools))
}

// tool reports whether a tool is one that heldcall has offered.
func (is offered) tool(t gjson.Result) bool {
	return t.Get("type").Str == "function" && is(t.Get("name").Str, t.Get("description").Str, t.Get("parameters").Raw)
}

// named reports whether heldcall has offered the tool of a call, by a name that agents would mend to that of the tool.
func (is offered) named(e *entry, list offers) bool {
	if tool := list.find(e.namespace, e.name); tool != nil || e.namespace != "" {
		return tool != nil && is.tool(tool.Result)
	}
	return slices.ContainsFunc(list, func(o offer) bool {
		return o.namespace == "" && is.tool(o.Result) && slices.Contains(toolname.AllKeys(e.name), toolname.Key(o.Get("name").Str))
	})
}

// repeated reports whether one of some events repeats a tool of heldcall.
func (is offered) repeated(events []*event) bool {
	return slices.ContainsFunc(events, func(e *event) bool { return is.ownTools(e.response) != "" })
}
