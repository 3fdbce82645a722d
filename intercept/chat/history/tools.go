package history

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// Hosted implements [intercept.Request]. OpenAI's own API hosts no tools in a list;
// many others that speak it do.
func (r *Request) Hosted() []intercept.HostedTool {
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
func (r *Request) OffersTools() bool {
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
func (r *Request) RequireApproval() int { return 0 }

// Names reports whether the name of a tool of the request is in a text.
func (r *Request) Names(text string) (found bool) {
	for _, field := range []string{"tools", "functions"} {
		gjson.ParseBytes(r.Field(field)).ForEach(func(_, tool gjson.Result) bool {
			for _, path := range []string{"function.name", "custom.name", "name"} {
				name := tool.Get(path).String()
				found = found || (name != "" && strings.Contains(text, name))
			}
			return !found
		})
	}
	return found
}

// Several reports whether the request asks for more than one choice.
func (r *Request) Several() bool { return gjson.ParseBytes(r.Field("n")).Int() > 1 }
