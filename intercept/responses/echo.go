package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// Upstream repeats the tools of the request in each response. The agent gets the list
// without those that heldcall has offered.

// ownTools returns the list of a response without the tools of heldcall, "" if it has none
// of them.
func (a *answer) ownTools(o *wire.Object) string {
	if a.limits.Offered == nil || o == nil || o.Tools == "" {
		return ""
	}
	own := []string{}
	all := gjson.Parse(o.Tools).Array()
	for _, t := range all {
		if !a.offered(t) {
			own = append(own, t.Raw)
		}
	}
	if len(own) == len(all) {
		return ""
	}
	return string(list(own))
}

// offered reports whether a tool is one that heldcall has offered.
func (a *answer) offered(t gjson.Result) bool {
	return a.limits.Offered != nil && t.Get("type").Str == "function" && a.limits.Offered(t.Get("name").Str, t.Get("description").Str)
}

// offeredCall reports whether a call is of a tool that heldcall has offered.
func (a *answer) offeredCall(it *item) bool {
	if a.limits.Offered == nil {
		return false
	}
	tool := a.body.offers().Find(it.entry.Namespace, it.entry.Name)
	return tool != nil && a.offered(tool.Result)
}

// repeatsOffer reports whether one of some events repeats a tool of heldcall.
func (a *answer) repeatsOffer(events []*wire.Event) bool {
	return slices.ContainsFunc(events, func(e *wire.Event) bool { return a.ownTools(e.Response) != "" })
}
