package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// offered are the tools that the model was offered: by the request or, where that
// only asks for a response, as upstream repeats them.
func (a *answer) offered() []history.Offer {
	if a.req.ID == "" || a.object == nil {
		return a.req.Offered()
	}
	return history.OffersIn(gjson.Parse(a.object.Tools), 0)
}

// offers reports whether the model was offered a tool of the agent's own.
func (a *answer) offers(namespace, name string) bool {
	return history.FindTool(a.offered(), namespace, name) != nil
}

// doubtOffer finds out whether the namespace of a call counts, and doubts one that
// clients find in another namespace than it names.
func (a *answer) doubtOffer(it *item) {
	e, c := it.entry, it.call
	if c.form.Type == wire.ApprovalRequest {
		c.hosted = history.ServerOf(a.offered(), e.Server)
	}
	c.offered = e.Namespace == "" || a.offers(e.Namespace, e.Name)
	switch {
	case !c.offered:
		it.AddAmbiguity("It names a namespace of tools that the request does not offer; some clients go by the name alone.")
	case e.Namespace == "" && c.form.Tool == "" && c.form.Type != wire.ApprovalRequest && a.within(e.Name) && !a.offers("", e.Name):
		it.AddAmbiguity("It names no namespace, and the request offers the tool within one only, where some clients find it all the same.")
	}
}

// within reports whether a namespace offers a tool that clients find by this name
// alone: by its own, or by both as they write them in one.
func (a *answer) within(name string) bool {
	return slices.ContainsFunc(a.offered(), func(o history.Offer) bool {
		if o.Namespace == "" {
			return false
		}
		rest, both := strings.CutPrefix(name, o.Namespace)
		return o.IsOwn(name) || (both && (o.IsOwn(rest) || o.IsOwn(strings.TrimLeft(rest, "_-/:"))))
	})
}

// ranByX reports a call of xAI's own search, which ran at the provider: custom tools
// with its names or, in older answers, an item of its own. A tool of the agent's with
// the same name is the agent's.
func (a *answer) ranByX(e *wire.Entry) bool {
	switch {
	case e.Type == "x_search_call":
	case e.Type != "custom_tool_call":
		return false
	case !strings.HasPrefix(e.Name, "x_") && e.Name != "view_x_video" && e.Name != "view_image":
		return false
	}
	return a.searchesX() && !a.offers("", e.Name) && !a.within(e.Name)
}

// searchesX reports whether the model was offered xAI's own search.
func (a *answer) searchesX() bool {
	for _, o := range a.offered() {
		if o.IsType("x_search") {
			return true
		}
	}
	return false
}

// hostsShell reports whether the model was offered a shell in a container of the
// provider's, and no other one.
func (a *answer) hostsShell() bool {
	hosted, other := false, false
	for _, o := range a.offered() {
		if o.IsType("shell") {
			hosted, other = hosted || o.InContainer(), other || !o.InContainer()
		}
	}
	return hosted && !other
}
