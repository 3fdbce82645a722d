package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request]. Some agents send the result of each call
// directly after it: calls between results do not make the results before them old.
func (r *Request) Results() (results []intercept.ToolResult) {
	for _, item := range r.input.list() {
		typ := typeOf(item)
		switch {
		case typ == approvalResponse:
		case IsOutput(typ):
			results = append(results, toolResult(typ, item))
		case isModels(item) && wire.Forms[typ] == nil:
			results = nil
		}
	}
	return results
}

// toolResult reads an item that answers a call. An item for a local shell may have only
// the id of the call.
func toolResult(typ string, item gjson.Result) intercept.ToolResult {
	output := item.Get("output")
	id := cmp.Or(item.Get("call_id").Str, item.Get("id").Str)
	result := intercept.NewToolResult(id, output)
	if typ == "shell_call_output" && output.IsArray() {
		result = shellResult(id, output)
	}
	result.Failed = result.Failed || slices.Contains([]string{"failed", "incomplete"}, item.Get("status").Str)
	return result
}

// shellResult reads what commands have written. They have failed if one has not exited
// with 0.
func shellResult(id string, output gjson.Result) intercept.ToolResult {
	var text strings.Builder
	failed := false
	output.ForEach(func(_, one gjson.Result) bool {
		text.WriteString(one.Get("stdout").String())
		text.WriteString(one.Get("stderr").String())
		failed = failed || one.Get("outcome.type").Str != "exit" || one.Get("outcome.exit_code").Int() != 0
		return true
	})
	result := intercept.NewToolResult(id, gjson.Result{Type: gjson.String, Str: text.String()})
	result.Failed = failed
	return result
}
