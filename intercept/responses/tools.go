package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// offer is a tool as the model is offered it.
type offer struct {
	gjson.Result
	namespace string
	from      int  // where in the body the field begins in which it stands
	unread    bool // a namespace whose tools nobody looks at
}

func (o *offer) is(typ string) bool { return o.Get("type").Str == typ }

// maxNamespaces bounds the search for tools within namespaces: each level reads all
// below it again.
const maxNamespaces = 8

// offersIn lists the tools of an array, with those in its namespaces. The names of
// namespaces around others stand before theirs, with a point between them.
func offersIn(tools gjson.Result, from int, namespaces ...string) (list []offer) {
	namespace := strings.Join(namespaces, ".")
	tools.ForEach(func(_, t gjson.Result) bool {
		o := offer{Result: t, namespace: namespace, from: from}
		within := o.is("namespace")
		o.unread = within && len(namespaces) == maxNamespaces
		if list = append(list, o); within && !o.unread {
			list = append(list, offersIn(t.Get("tools"), from, append(slices.Clip(namespaces), t.Get("name").Str)...)...)
		}
		return true
	})
	return list
}

// offered are the tools that the request offers: beside its input and in items of
// that, as Codex does it and as found tools are given back. Whatever their type, so
// that a new one is no way around policy.
func (r *request) offered() []offer {
	if r.offers != nil {
		return r.offers
	}
	at, _ := r.At("tools")
	r.offers = append([]offer{}, offersIn(gjson.ParseBytes(r.Field("tools")), at.Start)...)
	if r.May(toolsMark) {
		at, _ = r.At("input")
		for _, item := range r.items() {
			r.offers = append(r.offers, offersIn(item.Get("tools"), at.Start)...)
		}
	}
	return r.offers
}

// offered are the tools that the model was offered: by the request or, where that
// only asks for a response, as upstream repeats them.
func (a *answer) offered() []offer {
	if a.req.id == "" || a.object == nil {
		return a.req.offered()
	}
	return offersIn(gjson.Parse(a.object.Tools), 0)
}

// OffersTools implements [intercept.Request].
func (r *request) OffersTools() bool { return len(r.offered()) > 0 || len(r.Hosted()) > 0 }

// Tool implements [intercept.Request]. A tool in a namespace is called by both
// names, with a point between them.
func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	offers := r.offered()
	o := findTool(offers, "", name)
	for i := range offers {
		if in := &offers[i]; o == nil && in.namespace != "" && strings.HasPrefix(name, in.namespace) {
			if rest, within := strings.CutPrefix(name[len(in.namespace):], "."); within && in.own(rest) {
				o = in
			}
		}
	}
	for _, f := range wire.Forms { // tools that have no name but their type's
		for i := range offers {
			if o == nil && f.Tool == name && name != "" && strings.HasPrefix(offers[i].Get("type").Str, name) {
				o = &offers[i]
			}
		}
	}
	if o == nil {
		return tool, false
	}
	tool = intercept.Tool{Description: o.Get("description").String(), FreeText: o.is("custom")}
	if p := o.Get("parameters"); p.IsObject() {
		tool.Parameters = []byte(p.Raw)
	}
	return tool, true
}

// findTool looks for a tool of the agent's own.
func findTool(offers []offer, namespace, name string) *offer {
	for i := range offers {
		if o := &offers[i]; o.namespace == namespace && o.own(name) {
			return o
		}
	}
	return nil
}

// own reports whether the offer is a tool of the agent's own with that name.
func (o *offer) own(name string) bool {
	return name != "" && (o.is("function") || o.is("custom")) && o.Get("name").Str == name
}

// offers reports whether the model was offered a tool of the agent's own.
func (a *answer) offers(namespace, name string) bool {
	return findTool(a.offered(), namespace, name) != nil
}

// doubtOffer finds out whether the namespace of a call counts, and doubts one that
// clients find in another namespace than it names.
func (a *answer) doubtOffer(it *item) {
	e, c := it.entry, it.call
	if c.form.Type == wire.ApprovalRequest {
		c.hosted = serverOf(a.offered(), e.Server)
	}
	c.offered = e.Namespace == "" || a.offers(e.Namespace, e.Name)
	switch {
	case !c.offered:
		it.Doubt("It names a namespace of tools that the request does not offer; some clients go by the name alone.")
	case e.Namespace == "" && c.form.Tool == "" && c.form.Type != wire.ApprovalRequest && a.within(e.Name) && !a.offers("", e.Name):
		it.Doubt("It names no namespace, and the request offers the tool within one only, where some clients find it all the same.")
	}
}

// within reports whether a namespace offers a tool that clients find by this name
// alone: by its own, or by both as they write them in one.
func (a *answer) within(name string) bool {
	return slices.ContainsFunc(a.offered(), func(o offer) bool {
		if o.namespace == "" {
			return false
		}
		rest, both := strings.CutPrefix(name, o.namespace)
		return o.own(name) || both && (o.own(rest) || o.own(strings.TrimLeft(rest, "_-/:")))
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
		if o.is("x_search") {
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
		if o.is("shell") {
			hosted, other = hosted || o.inContainer(), other || !o.inContainer()
		}
	}
	return hosted && !other
}

func (o *offer) inContainer() bool {
	return strings.HasPrefix(o.Get("environment.type").Str, "container")
}

// server is the name of the MCP server that an offer is of.
func (o *offer) server() string {
	return intercept.HostedMCP(o.Get("server_url").String(), o.Get("connector_id").String(), o.Get("server_label").String())
}

// serverOf is the name of the MCP server that offers have under a label: that of one
// which cannot be told where they have none, or several.
func serverOf(offers []offer, label string) string {
	if o, one := labelled(offers, label); o != nil && one {
		return o.server()
	}
	return intercept.HostedMCP("", "", "")
}

// labelled is the MCP server that offers have under a label, and whether they have no
// other there.
func labelled(offers []offer, label string) (found *offer, one bool) {
	for i := range offers {
		o := &offers[i]
		switch {
		case !o.is("mcp") || o.Get("server_label").Str != label:
		case found == nil:
			found = o
		case found.address() != o.address():
			return found, false
		}
	}
	return found, true
}

// address tells an MCP server from any other under its label: all that says where it
// is, of which the name leaves out what may be a secret.
func (o *offer) address() string {
	return intercept.Fingerprint(o.Get("server_url").Raw, o.Get("connector_id").Raw)
}

// approvals are the labels of the MCP servers of which the agent's own request
// approves calls, "" where it does not say which. No agent gets a question about
// one, so none has anything to answer.
func (r *request) approvals() (labels []string) {
	if !r.May(approvalResponse) {
		return nil
	}
	servers := make(map[string]string)
	for _, item := range r.items() {
		switch item.Get("type").Str {
		case wire.ApprovalRequest:
			servers[item.Get("id").Str] = item.Get("server_label").Str
		case approvalResponse:
			if item.Get("approve").Type != gjson.False {
				labels = append(labels, servers[item.Get("approval_request_id").Str])
			}
		}
	}
	return labels
}

// Hosted implements [intercept.Request]. A prompt that the provider keeps may offer
// whatever it likes, so it counts as a tool by itself; so does a server of which the
// agent approves a call.
func (r *request) Hosted() (list []intercept.HostedTool) {
	for _, label := range r.approves {
		list = append(list, intercept.HostedTool{Name: serverOf(r.offered(), label)})
	}
	if gjson.ParseBytes(r.Field("prompt")).Type != gjson.Null {
		list = append(list, intercept.HostedTool{Name: "prompt"})
	}
	list = append(list, r.HostedBeside()...)
	for _, o := range r.offered() {
		switch typ := o.Get("type").String(); typ {
		case "function", "custom", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "":
		case "namespace":
			if o.unread { // anything may be in it
				list = append(list, intercept.HostedTool{Name: typ}, intercept.HostedTool{Name: intercept.HostedMCP("", "", "")})
			}
		case "shell":
			if o.inContainer() {
				list = append(list, intercept.HostedTool{Name: typ})
			}
		case "tool_search":
			if o.Get("execution").Str != "client" {
				list = append(list, intercept.HostedTool{Name: typ})
			}
		case "mcp":
			list = append(list, intercept.HostedTool{Name: o.server(), Asks: !o.asksNever()})
		default:
			list = append(list, intercept.HostedTool{Name: typ})
		}
	}
	return list
}

// asksNever reports whether the provider runs some tools of an MCP server without
// asking. Where the offer says nothing, it asks.
func (o *offer) asksNever() bool {
	v := o.Get("require_approval")
	switch {
	case v.Type == gjson.Null, v.Str == "always":
		return false
	case v.IsObject():
		return v.Get("never").Exists()
	}
	return true
}

// RequireApproval implements [intercept.Request]. Whoever offers a thousand servers
// has the body written once.
func (r *request) RequireApproval() (changed int) {
	if len(r.approves) > 0 {
		return 0
	}
	var at []intercept.Span
	for _, o := range r.offered() {
		if o.unread {
			return 0
		}
		if o.is("mcp") && o.asksNever() {
			v := o.Get("require_approval")
			at = append(at, intercept.Span{Start: o.from + v.Index, End: o.from + v.Index + len(v.Raw)})
		}
	}
	slices.SortFunc(at, func(a, b intercept.Span) int { return a.Start - b.Start })
	var body []byte
	end := 0 // how far of the body has been written
	for _, span := range at {
		body = append(append(body, r.envelope.Body[end:span.Start]...), `"always"`...)
		end = span.End
	}
	if len(at) == 0 || r.rewrite(append(body, r.envelope.Body[end:]...)) != nil {
		return 0
	}
	return len(at)
}
