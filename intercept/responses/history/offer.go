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
	unread    bool // a namespace whose tools are not read
}

// IsType reports whether the offer is of a type.
func (o *Offer) IsType(typ string) bool { return o.Get("type").Str == typ }

// MaxNamespaces bounds the search for tools within namespaces: each level reads all
// below it again.
const MaxNamespaces = 8

// Offers are the tools that the model is offered, those in namespaces among them.
type Offers []Offer

// OffersIn lists the tools of an array, with those in its namespaces. The name of a
// namespace in another one is both names, with a point between them.
func OffersIn(tools gjson.Result, from int, namespaces ...string) (list Offers) {
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

// Offered are the tools that the request offers: in its own field and in items of its
// input, where Codex puts them and where found tools are. Offers of any type count, so
// that a new type does not bypass policy.
func (r *Request) Offered() Offers {
	if r.offers != nil {
		return r.offers
	}
	at, _ := r.At("tools")
	r.offers = append(Offers{}, OffersIn(gjson.ParseBytes(r.Field("tools")), at.Start)...)
	if r.May(toolsMark) {
		at, _ = r.At(r.Operation.history())
		for _, item := range r.input.list() {
			r.offers = append(r.offers, OffersIn(item.Get("tools"), at.Start)...)
		}
	}
	return r.offers
}

// OffersTools implements [intercept.Request].
func (r *Request) OffersTools() bool {
	return r.Tools.Len > 0 || len(r.Offered()) > 0 || len(r.Hosted()) > 0
}

// Offer implements [intercept.Request]. Only a request for a new answer gets tools.
func (r *Request) Offer(tools []intercept.OfferedTool, always bool) []string {
	if r.Operation != create || (!always && len(r.Offered()) == 0) {
		return nil
	}
	known := func(name string) bool {
		return slices.ContainsFunc(r.Offered(), func(o Offer) bool { return o.Get("name").Str == name })
	}
	body, added := r.OfferTools(tools, known, func(t *intercept.OfferedTool) string {
		return `{"type":"function","name":` + strictjson.Quote(t.Name) + `,"description":` + strictjson.Quote(t.Description) + `,"parameters":` + t.Strict + `,"strict":true}`
	})
	if added == nil || r.SetBody(body) != nil {
		return nil
	}
	return added
}

// Tool implements [intercept.Request]. A tool in a namespace is called by both
// names, with a point between them.
func (r *Request) Tool(name string) (tool intercept.Tool, found bool) {
	o := r.Offered().called(name)
	if o == nil {
		return tool, false
	}
	tool = intercept.Tool{Description: o.Get("description").String(), FreeText: o.IsType("custom")}
	if p := o.Get("parameters"); p.IsObject() {
		tool.Parameters = []byte(p.Raw)
	}
	return tool, true
}

// called returns the offer of the tool that policy knows by a name, nil for none.
func (list Offers) called(name string) *Offer {
	if o := list.Find("", name); o != nil || name == "" {
		return o
	}
	for i := range list {
		o := &list[i]
		if rest, within := strings.CutPrefix(name, o.Namespace+"."); within && o.Namespace != "" && o.IsOwn(rest) {
			return o
		}
	}
	for _, f := range wire.Forms { // tools that have no name but their type's
		for i := range list {
			if f.Tool == name && strings.HasPrefix(list[i].Get("type").Str, name) {
				return &list[i]
			}
		}
	}
	return nil
}

// Find returns a tool of the agent's own, nil for none.
func (list Offers) Find(namespace, name string) *Offer {
	for i := range list {
		if o := &list[i]; o.Namespace == namespace && o.IsOwn(name) {
			return o
		}
	}
	return nil
}

// OnlyInNamespace reports whether a tool that clients find by this name alone is in a
// namespace, and none outside of namespaces has the name. Clients use the tool's own name
// or both names as they join them.
func (list Offers) OnlyInNamespace(name string) bool {
	return list.Find("", name) == nil && slices.ContainsFunc(list, func(o Offer) bool {
		if o.Namespace == "" {
			return false
		}
		rest, both := strings.CutPrefix(name, o.Namespace)
		return o.IsOwn(name) || (both && (o.IsOwn(rest) || o.IsOwn(strings.TrimLeft(rest, "_-/:"))))
	})
}

// IsOwn reports whether the offer is a tool of the agent's own with that name.
func (o *Offer) IsOwn(name string) bool {
	return name != "" && (o.IsType("function") || o.IsType("custom")) && o.Get("name").Str == name
}

// InContainer reports a shell in a container of the provider.
func (o *Offer) InContainer() bool {
	return strings.HasPrefix(o.Get("environment.type").Str, "container")
}

// HostShell reports whether a shell in a container of the provider's is offered, and no
// other one.
func (list Offers) HostShell() bool {
	shell := func(o Offer) bool { return o.IsType("shell") }
	other := func(o Offer) bool { return shell(o) && !o.InContainer() }
	return slices.ContainsFunc(list, shell) && !slices.ContainsFunc(list, other)
}

// RunXSearch reports whether xAI's own search is offered, and no tool of the agent's with
// the name of its call: then the call ran at the provider.
func (list Offers) RunXSearch(name string) bool {
	offered := slices.ContainsFunc(list, func(o Offer) bool { return o.IsType("x_search") })
	return offered && list.Find("", name) == nil && !list.OnlyInNamespace(name)
}

// server is the name of the MCP server that an offer is of.
func (o *Offer) server() string {
	return intercept.HostedMCP(o.Get("server_url").String(), o.Get("connector_id").String(), o.Get("server_label").String())
}

// Server is the name of the MCP server with a label: that of an unknown server where no
// offer has the label, or several do.
func (list Offers) Server(label string) string {
	if o, one := list.labelled(label); o != nil && one {
		return o.server()
	}
	return intercept.HostedMCP("", "", "")
}

// labelled is the MCP server with a label, and whether no other server has it.
func (list Offers) labelled(label string) (found *Offer, one bool) {
	for i := range list {
		o := &list[i]
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

// Address distinguishes the server at which calls of a label run from any other: by its
// address or, where no offer has the label, by the prompt of the request, which then offers
// the server. It is empty where several servers have the label.
func (list Offers) Address(label string, prompt []byte) string {
	switch o, one := list.labelled(label); {
	case !one:
		return ""
	case o != nil:
		return o.address()
	}
	v := gjson.ParseBytes(prompt)
	return intercept.Fingerprint("prompt", v.Get("id").String(), v.Get("version").String())
}

// address distinguishes an MCP server from any other with its label. The name leaves out
// the parts of the address that may be a secret.
func (o *Offer) address() string {
	return intercept.Fingerprint(o.Get("server_url").Raw, o.Get("connector_id").Raw)
}

// Hosted implements [intercept.Request]. A prompt that the provider keeps may offer any
// tool, so that it counts as a tool itself, as does a server of which the agent approves a
// call.
func (r *Request) Hosted() (list []intercept.HostedTool) {
	for _, label := range r.approves {
		list = append(list, intercept.HostedTool{Name: r.Offered().Server(label)})
	}
	if gjson.ParseBytes(r.Field("prompt")).Type != gjson.Null {
		list = append(list, intercept.HostedTool{Name: "prompt"})
	}
	list = append(list, r.HostedBeside()...)
	if !r.Tools.Others && !r.May(toolsMark) {
		return list
	}
	for _, o := range r.Offered() {
		switch typ := o.Get("type").String(); typ {
		case "function", "custom", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "":
		case "namespace":
			if o.unread { // it may contain any tool
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
// approval. The default is to ask.
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

// RequireApproval implements [intercept.Request]. It writes the body once, however many
// servers the request offers.
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
	if len(at) == 0 || r.SetBody(append(body, r.envelope.Body[end:]...)) != nil {
		return 0
	}
	return len(at)
}
