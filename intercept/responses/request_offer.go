package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// offer is a tool as the model is offered it.
type offer struct {
	gjson.Result
	namespace string
	from      int  // where in the body its field begins
	unread    bool // a namespace whose tools are not read
}

// isType reports whether the offer is of a type.
func (o *offer) isType(typ string) bool { return o.Get("type").Str == typ }

// maxNamespaces bounds the search for tools within namespaces: each level reads all
// below it again.
const maxNamespaces = 8

// offers are the tools that the model is offered, those in namespaces among them.
type offers []offer

// offersIn lists the tools of an array, with those in its namespaces. The name of a
// namespace in another one is both names, with a point between them.
func offersIn(tools gjson.Result, from int, namespaces ...string) (list offers) {
	if tools.Type == gjson.Null {
		return nil
	}
	namespace := strings.Join(namespaces, ".")
	tools.ForEach(func(_, t gjson.Result) bool {
		o := offer{Result: t, namespace: namespace, from: from}
		within := o.isType("namespace")
		o.unread = within && len(namespaces) == maxNamespaces
		if list = append(list, o); within && !o.unread {
			list = append(list, offersIn(t.Get("tools"), from, append(slices.Clip(namespaces), t.Get("name").Str)...)...)
		}
		return true
	})
	return list
}

// offered are the tools that the request offers: in its own field and in items of its
// input, where Codex puts them and where found tools are. Offers of any type count, so
// that a new type does not bypass policy.
func (r *request) offered() offers {
	if r.offers != nil {
		return r.offers
	}
	span, _ := r.At("tools")
	r.offers = append(offers{}, offersIn(r.Value("tools"), span.Start)...)
	if r.May(toolsMark) {
		span, _ = r.At(r.operation.history())
		for _, item := range r.input.list() {
			r.offers = append(r.offers, offersIn(item.Get("tools"), span.Start)...)
		}
	}
	return r.offers
}

// OffersTools implements [intercept.Request].
func (r *request) OffersTools() bool {
	return r.Tools.Len > 0 || len(r.offered()) > 0 || len(r.Hosted()) > 0
}

// Offer implements [intercept.Request]. Only a request for a new answer gets tools.
func (r *request) Offer(tools []intercept.OfferedTool, always bool) []string {
	if r.operation != opCreate || (!always && len(r.offered()) == 0) {
		return nil
	}
	var names []string
	for _, o := range r.offered() {
		names = append(names, o.Get("name").Str)
	}
	return r.OfferTools(tools, names, func(t *intercept.OfferedTool) string {
		return `{"type":"function","name":` + strictjson.Quote(t.Name) + `,"description":` + strictjson.Quote(t.Description) + `,"parameters":` + t.Strict + `,"strict":true}`
	}, r.SetBody)
}

// Tool implements [intercept.Request]. A tool in a namespace is called by both
// names, with a point between them.
func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	o := r.offered().called(name)
	if o == nil {
		return tool, false
	}
	tool = intercept.Tool{Description: o.Get("description").String(), FreeText: o.isType("custom")}
	if p := o.Get("parameters"); p.IsObject() {
		tool.Parameters = []byte(p.Raw)
	}
	return tool, true
}

// ToolNames implements [intercept.Request]. The provider keeps tools of a prompt, and of the answer or the
// conversation that the request is about.
func (r *request) ToolNames() (names intercept.ToolNames) {
	names.More = r.operation != opCreate || r.previous() != "" || r.conversation() != "" || r.Value("prompt").Type != gjson.Null
	for _, o := range r.offered() {
		name, typ := o.Get("name").Str, o.Get("type").Str
		switch {
		case o.unread, o.isType("tool_search"):
			names.More = true
		case !o.isOwn(name):
		case o.namespace != "":
			names.All = append(names.All, o.namespace+"."+name)
		default:
			names.All = append(names.All, strings.Clone(name))
		}
		for _, f := range callForms { // tools that have no name but their type's
			if f.tool != "" && strings.HasPrefix(typ, f.tool) {
				names.All = append(names.All, f.tool)
			}
		}
	}
	return names
}

// called returns the offer of the tool that policy knows by a name, nil for none.
func (list offers) called(name string) *offer {
	if o := list.find("", name); o != nil || name == "" {
		return o
	}
	for i := range list {
		o := &list[i]
		if toolName, within := strings.CutPrefix(name, o.namespace+"."); within && o.namespace != "" && o.isOwn(toolName) {
			return o
		}
	}
	for _, f := range callForms { // tools that have no name but their type's
		for i := range list {
			if f.tool == name && strings.HasPrefix(list[i].Get("type").Str, name) {
				return &list[i]
			}
		}
	}
	return nil
}

// find returns a tool of the agent's own, nil for none.
func (list offers) find(namespace, name string) *offer {
	for i := range list {
		if o := &list[i]; o.namespace == namespace && o.isOwn(name) {
			return o
		}
	}
	return nil
}

// onlyInNamespace reports whether a tool that clients find by this name alone is in a
// namespace, and none outside of namespaces has the name. Clients use the tool's own name
// or both names as they join them.
func (list offers) onlyInNamespace(name string) bool {
	return list.find("", name) == nil && slices.ContainsFunc(list, func(o offer) bool {
		if o.namespace == "" {
			return false
		}
		toolName, both := strings.CutPrefix(name, o.namespace)
		return o.isOwn(name) || (both && (o.isOwn(toolName) || o.isOwn(strings.TrimLeft(toolName, "_-/:"))))
	})
}

// isOwn reports whether the offer is a tool of the agent's own with that name.
func (o *offer) isOwn(name string) bool {
	return name != "" && (o.isType("function") || o.isType("custom")) && o.Get("name").Str == name
}

// inContainer reports a shell in a container of the provider.
func (o *offer) inContainer() bool {
	return strings.HasPrefix(o.Get("environment.type").Str, "container")
}

// hostShell reports whether a shell in a container of the provider's is offered, and no
// other one.
func (list offers) hostShell() bool {
	shell := func(o offer) bool { return o.isType("shell") }
	other := func(o offer) bool { return shell(o) && !o.inContainer() }
	return slices.ContainsFunc(list, shell) && !slices.ContainsFunc(list, other)
}

// runXSearch reports whether xAI's own search is offered, and no tool of the agent's with
// the name of its call: then the call ran at the provider.
func (list offers) runXSearch(name string) bool {
	offered := slices.ContainsFunc(list, func(o offer) bool { return o.isType("x_search") })
	return offered && list.find("", name) == nil && !list.onlyInNamespace(name)
}

// server is the name of the MCP server that an offer is of.
func (o *offer) server() string {
	return intercept.HostedMCP(o.Get("server_url").String(), o.Get("connector_id").String(), o.Get("server_label").String())
}

// server is the name of the MCP server with a label: that of an unknown server where no
// offer has the label, or several do.
func (list offers) server(label string) string {
	if o, unique := list.labelled(label); o != nil && unique {
		return o.server()
	}
	return intercept.HostedMCP("", "", "")
}

// labelled is the MCP server with a label, and whether no other server has it.
func (list offers) labelled(label string) (found *offer, one bool) {
	for i := range list {
		o := &list[i]
		switch {
		case !o.isType("mcp") || o.Get("server_label").Str != label:
		case found == nil:
			found = o
		case found.address() != o.address():
			return found, false
		}
	}
	return found, true
}

// address distinguishes the server at which calls of a label run from any other: by its
// address or, where no offer has the label, by the prompt of the request, which then offers
// the server. It is empty where several servers have the label.
func (list offers) address(label string, prompt []byte) string {
	switch o, unique := list.labelled(label); {
	case !unique:
		return ""
	case o != nil:
		return o.address()
	}
	v := gjson.ParseBytes(prompt)
	return intercept.Fingerprint("prompt", v.Get("id").String(), v.Get("version").String())
}

// address distinguishes an MCP server from any other with its label. The name leaves out
// the parts of the address that may be a secret.
func (o *offer) address() string {
	return intercept.Fingerprint(o.Get("server_url").Raw, o.Get("connector_id").Raw)
}

// Hosted implements [intercept.Request]. A prompt that the provider keeps may offer any
// tool, so that it counts as a tool itself, as does a server of which the agent approves a
// call.
func (r *request) Hosted() (list []intercept.HostedTool) {
	for _, label := range r.approves {
		list = append(list, intercept.HostedTool{Name: r.offered().server(label)})
	}
	if r.Value("prompt").Type != gjson.Null {
		list = append(list, intercept.HostedTool{Name: "prompt"})
	}
	list = append(list, r.HostedBeside()...)
	if !r.Tools.Others && !r.May(toolsMark) {
		return list
	}
	for _, o := range r.offered() {
		switch typ := o.Get("type").String(); typ {
		case "function", "custom", "local_shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "":
		case "namespace":
			if o.unread { // it may contain any tool
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
// approval. The default is to ask.
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

// RequireApproval implements [intercept.Request]. It writes the body once, however many
// servers the request offers.
func (r *request) RequireApproval() (changed int) {
	if len(r.approves) > 0 {
		return 0
	}
	var spans []strictjson.Span
	for _, o := range r.offered() {
		if o.unread {
			return 0
		}
		if o.isType("mcp") && o.asksNever() {
			v := o.Get("require_approval")
			spans = append(spans, strictjson.Span{Start: o.from + v.Index, End: o.from + v.Index + len(v.Raw)})
		}
	}
	slices.SortFunc(spans, func(a, b strictjson.Span) int { return a.Start - b.Start })
	var body []byte
	end := 0 // how far of the body has been written
	for _, span := range spans {
		body = append(append(body, r.outgoing.Body[end:span.Start]...), `"always"`...)
		end = span.End
	}
	if len(spans) == 0 || r.SetBody(append(body, r.outgoing.Body[end:]...)) != nil {
		return 0
	}
	return len(spans)
}
