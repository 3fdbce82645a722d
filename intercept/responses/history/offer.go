package history

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Offer is a tool as the model is offered it.
type Offer struct {
	gjson.Result
	Namespace string
	from      int  // where in the body its field begins
	unread    bool // a namespace whose tools nobody looks at
}

// IsType reports whether the offer is of a type.
func (o *Offer) IsType(typ string) bool { return o.Get("type").Str == typ }

// MaxNamespaces bounds the search for tools within namespaces: each level reads all
// below it again.
const MaxNamespaces = 8

// OffersIn lists the tools of an array, with those in its namespaces. The names of
// namespaces around others stand before theirs, with a point between them.
func OffersIn(tools gjson.Result, from int, namespaces ...string) (list []Offer) {
	namespace := strings.Join(namespaces, ".")
	tools.ForEach(func(_, t gjson.Result) bool {
		o := Offer{Result: t, Namespace: namespace, from: from}
		within := o.IsType("namespace")
		o.unread = within && len(namespaces) == MaxNamespaces
		if list = append(list, o); within && !o.unread {
			list = append(list, OffersIn(t.Get("tools"), from, append(slices.Clip(namespaces), t.Get("name").Str)...)...)
		}
		return true
	})
	return list
}

// Offered are the tools that the request offers: beside its input and in items of
// that, as Codex does it and as found tools are given back. Whatever their type, so
// that a new one is no way around policy.
func (r *Request) Offered() []Offer {
	if r.offers != nil {
		return r.offers
	}
	at, _ := r.At("tools")
	r.offers = append([]Offer{}, OffersIn(gjson.ParseBytes(r.Field("tools")), at.Start)...)
	if r.May(toolsMark) {
		at, _ = r.At("input")
		for _, item := range r.items() {
			r.offers = append(r.offers, OffersIn(item.Get("tools"), at.Start)...)
		}
	}
	return r.offers
}

// OffersTools implements [intercept.Request].
func (r *Request) OffersTools() bool { return len(r.Offered()) > 0 || len(r.Hosted()) > 0 }

// Tool implements [intercept.Request]. A tool in a namespace is called by both
// names, with a point between them.
func (r *Request) Tool(name string) (tool intercept.Tool, found bool) {
	offers := r.Offered()
	o := FindTool(offers, "", name)
	for i := range offers {
		if in := &offers[i]; o == nil && in.Namespace != "" && strings.HasPrefix(name, in.Namespace) {
			if rest, within := strings.CutPrefix(name[len(in.Namespace):], "."); within && in.IsOwn(rest) {
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
	tool = intercept.Tool{Description: o.Get("description").String(), FreeText: o.IsType("custom")}
	if p := o.Get("parameters"); p.IsObject() {
		tool.Parameters = []byte(p.Raw)
	}
	return tool, true
}

// FindTool looks for a tool of the agent's own.
func FindTool(offers []Offer, namespace, name string) *Offer {
	for i := range offers {
		if o := &offers[i]; o.Namespace == namespace && o.IsOwn(name) {
			return o
		}
	}
	return nil
}

// IsOwn reports whether the offer is a tool of the agent's own with that name.
func (o *Offer) IsOwn(name string) bool {
	return name != "" && (o.IsType("function") || o.IsType("custom")) && o.Get("name").Str == name
}

// InContainer reports a shell in a container of the provider.
func (o *Offer) InContainer() bool {
	return strings.HasPrefix(o.Get("environment.type").Str, "container")
}

// server is the name of the MCP server that an offer is of.
func (o *Offer) server() string {
	return intercept.HostedMCP(o.Get("server_url").String(), o.Get("connector_id").String(), o.Get("server_label").String())
}

// ServerOf is the name of the MCP server that offers have under a label: that of one
// which is not known where they have none, or several.
func ServerOf(offers []Offer, label string) string {
	if o, one := labelled(offers, label); o != nil && one {
		return o.server()
	}
	return intercept.HostedMCP("", "", "")
}

// labelled is the MCP server that offers have under a label, and whether they have no
// other there.
func labelled(offers []Offer, label string) (found *Offer, one bool) {
	for i := range offers {
		o := &offers[i]
		switch {
		case !o.IsType("mcp") || o.Get("server_label").Str != label:
		case found == nil:
			found = o
		case found.address() != o.address():
			return found, false
		}
	}
	return found, true
}

// address distinguishes an MCP server from any other under its label: all about where it
// is, of which the name leaves out what may be a secret.
func (o *Offer) address() string {
	return intercept.Fingerprint(o.Get("server_url").Raw, o.Get("connector_id").Raw)
}

// approvals are the labels of the MCP servers of which the agent's own request
// approves calls, "" where it does not say which. No agent gets a question about
// one, so none has anything to answer.
func (r *Request) approvals() (labels []string) {
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
func (r *Request) Hosted() (list []intercept.HostedTool) {
	for _, label := range r.approves {
		list = append(list, intercept.HostedTool{Name: ServerOf(r.Offered(), label)})
	}
	if gjson.ParseBytes(r.Field("prompt")).Type != gjson.Null {
		list = append(list, intercept.HostedTool{Name: "prompt"})
	}
	list = append(list, r.HostedBeside()...)
	for _, o := range r.Offered() {
		switch typ := o.Get("type").String(); typ {
		case "function", "custom", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "":
		case "namespace":
			if o.unread { // anything may be in it
				list = append(list, intercept.HostedTool{Name: typ}, intercept.HostedTool{Name: intercept.HostedMCP("", "", "")})
			}
		case "shell":
			if o.InContainer() {
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
// asking. Where the offer has no setting, it asks.
func (o *Offer) asksNever() bool {
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
func (r *Request) RequireApproval() (changed int) {
	if len(r.approves) > 0 {
		return 0
	}
	var at []strictjson.Span
	for _, o := range r.Offered() {
		if o.unread {
			return 0
		}
		if o.IsType("mcp") && o.asksNever() {
			v := o.Get("require_approval")
			at = append(at, strictjson.Span{Start: o.from + v.Index, End: o.from + v.Index + len(v.Raw)})
		}
	}
	slices.SortFunc(at, func(a, b strictjson.Span) int { return a.Start - b.Start })
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
