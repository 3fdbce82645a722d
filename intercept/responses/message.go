package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// made is the item as it goes back to the provider: as it came, or as far as it
// came.
func (it *item) made() string {
	raw := it.entry.Raw
	if it.call == nil {
		return raw
	}
	p := strictjson.Patch{JSON: raw}
	if !it.over && !it.call.form.Unknown {
		p.JSON = it.entry.WithInput(it.call.form, it.input())
	}
	if it.call.id != "" {
		p.Set("call_id", strictjson.Quote(it.call.id))
	}
	return p.JSON
}

// turnItems is what of the turn goes back to a provider that does not keep it: every
// item in its place. Reasoning that the provider can neither look up nor decrypt
// stays away, and with it the ids by which it would be missed.
func (a *answer) turnItems() (items []string) {
	lost, unstored := false, a.object.Unstored || a.req.Unstored()
	for _, it := range a.items {
		if it.entry.Type == "reasoning" && unstored && it.entry.Field("encrypted_content").Str == "" {
			lost = true
		}
	}
	for _, it := range a.items {
		switch {
		case it.call != nil && it.Void:
		case lost && it.entry.Type == "reasoning":
		case lost:
			items = append(items, history.WithoutID(it.made()))
		default:
			items = append(items, it.made())
		}
	}
	return items
}

// answerable reports whether the wire has an output for the call.
func (it *item) answerable() bool {
	f := it.call.form
	return it.callID() != "" && (!f.Unknown || strings.HasSuffix(f.Type, "_call"))
}

// outputs are the items that answer the call in place of its result: with what
// the model is told or, for an approval that was asked for, with the ruling.
func (it *item) outputs(r intercept.Ruling) []string {
	told, call := strictjson.Quote(r.ModelMessage), strictjson.Quote(it.callID())
	switch typ := it.call.form.Type; typ {
	case wire.ApprovalRequest:
		approve := r.Action == intercept.Release
		reason := ""
		if !approve {
			reason = `,"reason":` + told
		}
		return []string{fmt.Sprintf(`{"type":"mcp_approval_response","approval_request_id":%s,"approve":%t%s}`, call, approve, reason)}
	case "local_shell_call":
		return []string{`{"type":"local_shell_call_output","id":` + call + `,"call_id":` + call + `,"output":` + told + "}"}
	case "shell_call":
		bound := ""
		if n := it.entry.Field("action.max_output_length"); n.Type == gjson.Number {
			bound = `,"max_output_length":` + n.Raw
		}
		return []string{`{"type":"shell_call_output","call_id":` + call + it.by() + bound + `,"output":[{"stdout":"","stderr":` + told + `,"outcome":{"type":"exit","exit_code":1}}]}`}
	case "apply_patch_call":
		return []string{`{"type":"apply_patch_call_output","call_id":` + call + it.by() + `,"status":"failed","output":` + told + "}"}
	case "tool_search_call":
		return []string{`{"type":"tool_search_output","call_id":` + call + `,"execution":"client","status":"completed","tools":[]}`, history.Developer(r.ModelMessage)}
	case "computer_call":
		return []string{it.screenshot(call), history.Developer(r.ModelMessage)}
	default:
		return []string{`{"type":` + strictjson.Quote(typ+"_output") + `,"call_id":` + call + it.by() + `,"output":` + told + "}"}
	}
}

// by names the program that made the call, which its output has to name too.
func (it *item) by() string {
	if it.entry.Caller == "" || it.entry.Caller == "null" {
		return ""
	}
	return `,"caller":` + it.entry.Caller
}

// screenshot is the only answer to a computer call that the API has. It shows
// nothing, and acknowledges what the provider wanted looked at: people have, and
// the action did not run.
func (it *item) screenshot(call string) string {
	acknowledged := ""
	if checks := it.entry.Field(wire.SafetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		acknowledged = `,"acknowledged_safety_checks":` + checks.Raw
	}
	return `{"type":"computer_call_output","call_id":` + call + acknowledged + `,"output":{"type":"computer_screenshot","image_url":"` + blankImage + `"}}`
}

// blankImage is a PNG of one white pixel.
const blankImage = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
