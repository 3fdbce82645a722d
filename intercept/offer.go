package intercept

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// OfferTools returns the body with tools appended to the field tools, and their names. Known
// reports whether the agent has a tool of a name, render is a tool on the wire. The same
// tools give the same bytes each time, so that the provider's cache of prompts works. The
// result is nil if nothing changes.
func (a *ParsedRequest) OfferTools(tools []OfferedTool, known func(name string) bool, render func(*OfferedTool) string) (body []byte, added []string) {
	raw := a.Field("tools")
	if raw == nil || string(raw) == "null" {
		raw = []byte("[]")
	}
	if raw[0] != '[' {
		return nil, nil
	}
	var items []string
	for i := range tools {
		if t := &tools[i]; !known(t.Name) && !slices.Contains(added, t.Name) {
			items, added = append(items, render(t)), append(added, t.Name)
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	body, err := strictjson.SetField(a.envelope.Body, "tools", strictjson.AppendItems(raw, items...))
	if err != nil {
		return nil, nil
	}
	return body, added
}
