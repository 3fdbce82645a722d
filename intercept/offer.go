package intercept

import (
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/toolname"
)

// OfferTools appends tools to the field tools, and returns their names. A tool is left
// out if the agent has one of the same name, as agents mend names; render is a tool on the wire, and setBody
// [Request.SetBody]. The same tools give the same bytes each time, so that the provider's cache of prompts works. The
// result is nil if nothing changes.
func (a *ParsedRequest) OfferTools(tools []OfferedTool, agents []string, render func(*OfferedTool) string, setBody func([]byte) error) (added []string) {
	raw := a.Field("tools")
	if raw == nil || string(raw) == "null" {
		raw = []byte("[]")
	}
	if raw[0] != '[' {
		return nil
	}
	taken := make(map[string]bool, len(agents))
	for _, name := range agents {
		taken[toolname.Key(name)] = true
	}
	var items []string
	for i := range tools {
		if t := &tools[i]; !taken[toolname.Key(t.Name)] && !slices.Contains(added, t.Name) {
			items, added = append(items, render(t)), append(added, t.Name)
		}
	}
	if len(items) == 0 {
		return nil
	}
	body, err := strictjson.SetField(a.envelope.Body, "tools", strictjson.AppendItems(raw, items...))
	if err != nil || setBody(body) != nil {
		return nil
	}
	return added
}

// ToolNames are the names of the tools that a request offers, as [Call.Name] has them.
type ToolNames struct {
	All      []string
	Toolsets []string // toolsets that do not list their tools, whose names are TOOLSET.TOOL
	// More reports that the model may have tools that the request does not list, as the provider
	// keeps them: by a prompt, an answer, a conversation or a thread that the request continues, or by
	// a search.
	More bool
}

// Has reports whether a tool of a name is offered, by itself or in a toolset.
func (t *ToolNames) Has(name string) bool {
	return slices.Contains(t.All, name) || t.InToolset(name)
}

// InToolset reports whether a name is that of a tool in a toolset that does not list its tools: whether it has this one
// is not known.
func (t *ToolNames) InToolset(name string) bool {
	return slices.ContainsFunc(t.Toolsets, func(set string) bool { return len(name) > len(set)+1 && strings.HasPrefix(name, set+".") })
}

// Offer is what a request offers the model, for judging the names of the calls in its answer.
type Offer struct {
	ToolNames
	tool func(name string) (Tool, bool)
}

// NewOffer reads the offer of a request.
func NewOffer(r Request) *Offer { return &Offer{r.ToolNames(), r.Tool} }

// OfferOf returns the offer of tools that are known by their names only.
func OfferOf(names ...string) *Offer {
	return &Offer{ToolNames{All: names}, func(string) (Tool, bool) { return Tool{}, false }}
}

// Tool returns the definition of a tool: see [Request].
func (o *Offer) Tool(name string) (Tool, bool) { return o.tool(name) }

// Unoffered returns in one sentence why a tool of a name is certainly not offered, "" if it is or may be.
func (o *Offer) Unoffered(name string) string {
	if o.More || o.Has(name) {
		return ""
	}
	shown := strconv.Quote(cut(name))
	switch nearest := toolname.Nearest(name, o.All); {
	case nearest != "":
		return "The tool " + shown + " is not offered; the nearest offered tool is " + cut(nearest) + "."
	case len(o.All) == 0 && len(o.Toolsets) == 0:
		return "The tool " + shown + " is not offered; the request offers no tools."
	}
	return "The tool " + shown + " is not offered; no offered tool has a similar name."
}

// cut bounds the name of a tool in a sentence.
func cut(name string) string {
	const most = 80
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
