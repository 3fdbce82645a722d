package responses

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request].
func (r *request) Results() (results []intercept.ToolResult) {
	for _, item := range r.unanswered() {
		if typ := typeOf(item); typ != approvalResponse {
			results = append(results, toolResult(typ, item))
		}
	}
	return results
}

// ResultIDs implements [intercept.Request].
func (r *request) ResultIDs() (ids []string) {
	for _, item := range r.unanswered() {
		ids = append(ids, cmp.Or(item.Get("approval_request_id").Str, callIDOf(item)))
	}
	return ids
}

// unanswered returns the items with results, and with answers to requests for an approval, after the last answer of the model. Some agents send the
// result of each call directly after it: calls between results do not make the results before them old.
func (r *request) unanswered() (items []gjson.Result) {
	for _, item := range r.input.list() {
		typ := typeOf(item)
		switch {
		case isOutput(typ):
			items = append(items, item)
		case isModels(item) && callForms[typ] == nil:
			items = items[:0]
		}
	}
	return items
}

// toolResult reads an item that answers a call. An item for a local shell may have only
// the id of the call.
func toolResult(typ string, item gjson.Result) intercept.ToolResult {
	output := item.Get("output")
	id := callIDOf(item)
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

// ResultContents implements [intercept.Request].
func (r *request) ResultContents() []toolresult.Content {
	history, _ := r.At(r.operation.history())
	contents := toolresult.Collector{Offset: history.Start}
	for _, item := range r.input.list() {
		typ := item.Get("type").Str
		id := callIDOf(item)
		switch {
		case typ == approvalResponse:
		case isOutput(typ):
			contents.Add(id, item.Get("output"))
		case callForms[typ] != nil:
			contents.AddCall(id, item)
		case isModels(item):
			contents.Answered()
		}
	}
	return contents.List()
}

// ResultCall implements [intercept.Dialect].
func (Dialect) ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	f := callForms[v.Get("type").Str]
	if f == nil {
		return intercept.Call{}
	}
	c := intercept.Call{ID: callIDOf(v), Name: cmp.Or(f.tool, v.Get("name").Str), FreeText: f.free}
	if within := v.Get("namespace").Str; within != "" && f.tool == "" {
		c.Name = within + "." + c.Name
	}
	if c.Arguments = v.Get(f.field).Raw; f.text {
		c.Arguments = v.Get(f.field).String()
	}
	return c
}
