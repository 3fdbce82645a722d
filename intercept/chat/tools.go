package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// Hosted implements [intercept.Request]. OpenAI's own API hosts no tools in a list;
// many others that speak it do.
func (r *request) Hosted() []intercept.HostedTool {
	var list []intercept.HostedTool
	gjson.ParseBytes(r.Field("tools")).ForEach(func(_, t gjson.Result) bool {
		if name := hosted(t); name != "" {
			list = append(list, intercept.HostedTool{Name: name})
		}
		return true
	})
	return append(list, r.HostedBeside()...)
}

// OffersTools implements [intercept.Request].
func (r *request) OffersTools() bool {
	offered := func(field string) bool { return gjson.GetBytes(r.Field(field), "0").Exists() }
	return offered("tools") || offered("functions") || len(r.HostedBeside()) > 0
}

// hosted is the name of a tool that is not the agent's own, "" for one that is.
func hosted(t gjson.Result) string {
	kind := t.Get("type")
	switch {
	case !t.IsObject():
		return t.String()
	case kind.Str == "function" || kind.Str == "custom":
		return ""
	case kind.Str == "mcp":
		return intercept.HostedMCP(t.Get("server_url").String(), t.Get("connector_id").String(), t.Get("server_label").String())
	case kind.String() != "":
		return kind.String()
	case t.Get("function").Exists() || t.Get("custom").Exists() || t.Get("name").Exists():
		return ""
	}
	name := t.Raw // Gemini's have no type; what they are called is their one field
	t.ForEach(func(field, _ gjson.Result) bool {
		name = field.Str
		return false
	})
	return name
}

// RequireApproval implements [intercept.Request]. The API has no word for it.
func (r *request) RequireApproval() int { return 0 }
