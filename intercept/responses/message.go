package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// original is the item as it goes back to the provider: as it came, or the part of it
// that came.
func (it *item) original() string {
	raw := it.entry.raw
	if it.call == nil {
		return raw
	}
	p := strictjson.Patch{JSON: raw}
	if !it.done && !it.call.form.unknown {
		p.JSON = it.entry.withInput(it.call.form, it.input())
	}
	if it.call.id != "" {
		p.Set("call_id", strictjson.Quote(it.call.id))
	}
	return p.JSON
}

// answerable reports whether the wire has an output for the call.
func (it *item) answerable() bool {
	f := it.call.form
	return it.callID() != "" && (!f.unknown || strings.HasSuffix(f.typ, "_call"))
}

// outputs are the items that answer the call in place of its result: with the message to
// the model or, for an approval request, with the ruling.
func (it *item) outputs(r intercept.Ruling) []string {
	message, call, caller := strictjson.Quote(r.ModelMessage), strictjson.Quote(it.callID()), it.entry.callerField()
	switch typ := it.call.form.typ; typ {
	case approvalRequest:
		if r.Action == intercept.Release {
			return []string{`{"type":"mcp_approval_response","approval_request_id":` + call + `,"approve":true}`}
		}
		return []string{approvalRefusal(it.callID(), r.ModelMessage)}
	case "local_shell_call":
		return []string{`{"type":"local_shell_call_output","id":` + call + `,"call_id":` + call + `,"output":` + message + "}"}
	case "shell_call":
		limit := ""
		if n := it.entry.field("action.max_output_length"); n.Type == gjson.Number {
			limit = `,"max_output_length":` + n.Raw
		}
		return []string{`{"type":"shell_call_output","call_id":` + call + caller + limit + `,"output":[{"stdout":"","stderr":` + message + `,"outcome":{"type":"exit","exit_code":1}}]}`}
	case "apply_patch_call":
		return []string{`{"type":"apply_patch_call_output","call_id":` + call + caller + `,"status":"failed","output":` + message + "}"}
	case "tool_search_call":
		return []string{`{"type":"tool_search_output","call_id":` + call + `,"execution":"client","status":"completed","tools":[]}`, developerMessage(r.ModelMessage)}
	case "computer_call":
		return []string{it.entry.screenshot(call), developerMessage(r.ModelMessage)}
	default:
		if it.entry.program() != "" && r.Action == intercept.Deny { // the program reads JSON, a text would be the value of the function
			message = strictjson.Quote(`{"error":` + message + `}`)
		}
		return []string{`{"type":` + strictjson.Quote(typ+"_output") + `,"call_id":` + call + caller + `,"output":` + message + "}"}
	}
}

// callerField is the field of an output that names the program that made the call, "" for
// none.
func (e *entry) callerField() string {
	if e.caller == "" || e.caller == "null" {
		return ""
	}
	return `,"caller":` + e.caller
}

// program is the id of the program of the model that makes the call, "" if the model itself does.
func (e *entry) program() string {
	caller := gjson.Parse(e.caller)
	if caller.Get("type").Str != "program" {
		return ""
	}
	return caller.Get("caller_id").String()
}

// screenshot is the only answer to a computer call that the API has. It is blank, and
// acknowledges the safety checks: people have seen them, and the action did not run.
func (e *entry) screenshot(call string) string {
	acknowledged := ""
	if checks := e.field(safetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		acknowledged = `,"acknowledged_safety_checks":` + checks.Raw
	}
	return `{"type":"computer_call_output","call_id":` + call + acknowledged + `,"output":{"type":"computer_screenshot","image_url":"` + blankImage + `"}}`
}

// blankImage is a PNG of one white pixel.
const blankImage = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
