package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// offered lists the tools that the request offers: those in its list, and those that
// its messages define, which the system adds within a conversation and a compacted
// history repeats.
func (r *request) offered() []gjson.Result {
	list := r.Value("tools").Array()
	if !r.May(toolAddition) {
		return list
	}
	r.Value("messages").ForEach(func(_, m gjson.Result) bool {
		for _, b := range contentBlocks(m.Get("content")) {
			list = append(list, definedTools(b)...)
			for _, change := range contentBlocks(b.Get("tool_changes")) {
				list = append(list, definedTools(change)...)
			}
		}
		return true
	})
	return list
}

// toolAddition is the type of a block that defines a tool.
const toolAddition = "tool_addition"

// definedTools returns the tool that a block defines, if it does.
func definedTools(block gjson.Result) []gjson.Result {
	if tool := block.Get("tool.definition"); block.Get("type").Str == toolAddition && tool.IsObject() {
		return []gjson.Result{tool}
	}
	return nil
}

// Tool implements [intercept.Request]. The last definition of a name counts.
func (r *request) Tool(name string) (tool intercept.Tool, found bool) {
	for _, t := range slices.Backward(r.offered()) {
		if name == "" || t.Get("name").Str != name || !runsAtAgent(t.Get("type")) {
			continue
		}
		tool.Description = t.Get("description").String()
		if schema := t.Get("input_schema"); schema.IsObject() {
			tool.Parameters = []byte(schema.Raw)
		}
		return tool, true
	}
	return tool, false
}

// ToolNames implements [intercept.Request]. A thread that the provider keeps may have tools of its own.
func (r *request) ToolNames() (names intercept.ToolNames) {
	for _, t := range r.offered() {
		kind := t.Get("type")
		toolset, _, isToolset := strings.Cut(kind.Str, "_toolset_")
		switch name := strings.Clone(t.Get("name").Str); {
		case isToolset:
			names.Toolsets = append(names.Toolsets, strings.Clone(toolset))
		case runsAtAgent(kind) && name != "":
			names.All = append(names.All, name)
		}
	}
	names.More = r.Value("thread").Get("type").Str == "continue"
	return names
}

// runsAtAgent reports whether the agent runs the tools of a type: its own, and
// those that the provider only describes, whose types end in a date.
func runsAtAgent(kind gjson.Result) bool {
	if kind.Type == gjson.Null || kind.Str == "custom" {
		return true
	}
	cut := strings.LastIndexByte(kind.Str, '_')
	if cut < 0 || strings.Trim(kind.Str[cut+1:], "0123456789") != "" {
		return false
	}
	return slices.Contains([]string{"bash", "text_editor", "computer", "computer_toolset", "browser_toolset", "memory"}, kind.Str[:cut])
}

// Hosted implements [intercept.Request].
func (r *request) Hosted() (list []intercept.HostedTool) {
	add := func(name string) {
		if tool := (intercept.HostedTool{Name: name}); !slices.Contains(list, tool) {
			list = append(list, tool)
		}
	}
	labels := make(map[string]bool) // of the servers in the request
	r.Value("mcp_servers").ForEach(func(_, server gjson.Result) bool {
		label := server.Get("name").String()
		labels[label] = true
		add(intercept.HostedMCP(server.Get("url").String(), "", label))
		return true
	})
	if !r.Tools.Others && !r.May(toolAddition) {
		return list
	}
	for _, t := range r.offered() {
		switch kind := t.Get("type"); {
		case kind.Str == "mcp_toolset":
			if label := t.Get("mcp_server_name").String(); !labels[label] {
				add(intercept.HostedMCP("", "", label))
			}
		case !runsAtAgent(kind):
			add(kind.String())
		}
	}
	return list
}

// OffersTools implements [intercept.Request]. A thread may have some.
func (r *request) OffersTools() bool {
	return r.continued() != "" || r.Tools.Len > 0 || len(r.offered()) > 0 || len(r.Hosted()) > 0
}

// Offer implements [intercept.Request]. A thread keeps the tools with which it began.
func (r *request) Offer(tools []intercept.OfferedTool, always bool) []string {
	if r.continued() != "" {
		return nil
	}
	if !always && len(r.offered()) == 0 {
		return nil
	}
	var names []string
	for _, t := range r.offered() {
		names = append(names, t.Get("name").Str)
	}
	return r.OfferTools(tools, names, func(t *intercept.OfferedTool) string {
		return `{"name":` + strictjson.Quote(t.Name) + `,"description":` + strictjson.Quote(t.Description) + `,"input_schema":` + t.Parameters + "}"
	}, r.SetBody)
}

// inToolset reports whether the request offers the toolset that a call of a tool
// names, and no tool of the agent has the tool's name. The AI SDK runs the toolset
// instead of the tool, other clients run the tool.
func (r *request) inToolset(toolset, tool string) bool {
	if _, offered := r.Tool(tool); offered || toolset == "" {
		return false
	}
	return slices.ContainsFunc(r.offered(), func(t gjson.Result) bool {
		return strings.HasPrefix(t.Get("type").Str, toolset+"_toolset_")
	})
}
