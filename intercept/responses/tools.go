package responses

import (
	"strings"

	"github.com/tidwall/gjson"
)

// offers are the tools that were offered to the model: by the request or, where that only
// asks for a response, as upstream repeats them.
func (b *body) offers() offers {
	if b.req.id == "" || b.object == nil {
		return b.req.offered()
	}
	return offersIn(gjson.Parse(b.object.tools), 0)
}

// formOf is the form of a call that the agent runs, nil for any other item.
func (b *body) formOf(e *entry) *callForm {
	switch {
	case e.typ == "shell_call" && strings.HasPrefix(e.environment, "container") && b.offers().hostShell():
		return nil
	case e.typ == "tool_search_call" && e.execution == "server":
		return nil
	case e.isXSearch() && b.offers().runXSearch(e.name):
		return nil
	}
	return e.form()
}

// isXSearch reports whether a call may be one of xAI's own search: a custom tool with one
// of its names or, in older answers, an item of its own type.
func (e *entry) isXSearch() bool {
	switch e.typ {
	case "x_search_call":
		return true
	case "custom_tool_call":
		return strings.HasPrefix(e.name, "x_") || e.name == "view_x_video" || e.name == "view_image"
	}
	return false
}

// checkNamespace finds out whether the namespace of a call counts, and notes a call that
// clients find in another namespace than it names.
func (b *body) checkNamespace(it *item) {
	e, c := it.entry, it.call
	if c.form.typ == approvalRequest {
		c.hosted = b.offers().server(e.server)
		if strings.Contains(e.server, "__") || strings.HasPrefix(e.server, "_") || strings.HasSuffix(e.server, "_") {
			it.AddAmbiguity("The label of its MCP server looks like that of another server and a tool of it.")
		}
	}
	c.inRequest = e.namespace == "" || b.offers().find(e.namespace, e.name) != nil
	named := c.form.tool == "" && c.form.typ != approvalRequest
	switch {
	case !c.inRequest:
		it.AddAmbiguity("It names a namespace of tools that the request does not offer; some clients go by the name alone.")
	case e.namespace == "" && named && b.offers().onlyInNamespace(e.name):
		it.AddAmbiguity("It names no namespace, and the request offers the tool within one only, where some clients find it all the same.")
	}
}
