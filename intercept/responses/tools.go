package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// offers are the tools that were offered to the model: by the request or, where that only
// asks for a response, as upstream repeats them.
func (b *body) offers() history.Offers {
	if b.req.ID == "" || b.object == nil {
		return b.req.Offered()
	}
	return history.OffersIn(gjson.Parse(b.object.Tools), 0)
}

// formOf is the form of a call that the agent runs, nil for any other item.
func (b *body) formOf(e *wire.Entry) *wire.Form {
	switch {
	case e.Type == "shell_call" && strings.HasPrefix(e.Environment, "container") && b.offers().HostShell():
		return nil
	case e.Type == "tool_search_call" && e.Execution == "server":
		return nil
	case isXSearch(e) && b.offers().RunXSearch(e.Name):
		return nil
	}
	return e.Form()
}

// isXSearch reports whether a call may be one of xAI's own search: a custom tool with one
// of its names or, in older answers, an item of its own type.
func isXSearch(e *wire.Entry) bool {
	switch e.Type {
	case "x_search_call":
		return true
	case "custom_tool_call":
		return strings.HasPrefix(e.Name, "x_") || e.Name == "view_x_video" || e.Name == "view_image"
	}
	return false
}

// checkNamespace finds out whether the namespace of a call counts, and notes a call that
// clients find in another namespace than it names.
func (b *body) checkNamespace(it *item) {
	e, c := it.entry, it.call
	if c.form.Type == wire.ApprovalRequest {
		c.hosted = b.offers().Server(e.Server)
	}
	c.inRequest = e.Namespace == "" || b.offers().Find(e.Namespace, e.Name) != nil
	named := c.form.Tool == "" && c.form.Type != wire.ApprovalRequest
	switch {
	case !c.inRequest:
		it.AddAmbiguity("It names a namespace of tools that the request does not offer; some clients go by the name alone.")
	case e.Namespace == "" && named && b.offers().OnlyInNamespace(e.Name):
		it.AddAmbiguity("It names no namespace, and the request offers the tool within one only, where some clients find it all the same.")
	}
}
