package responses

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request]. Some agents send the result of each call
// directly after it: calls between results do not make the results before them old.
func (r *request) Results() (results []intercept.ToolResult) {
	var unanswered []gjson.Result
	for _, item := range r.input.list() {
		typ := typeOf(item)
		switch {
		case typ == approvalResponse:
		case isOutput(typ):
			unanswered = append(unanswered, item)
		case isModels(item) && callForms[typ] == nil:
			unanswered = unanswered[:0]
		}
	}
	for _, item := range unanswered {
		results = append(results, toolResult(typeOf(item), item))
	}
	return results
}

// resultOf is the Result of [outline.Schema], as Results has it. It reads type, id, call_id and
// approval_request_id.
func resultOf(role []byte, members *[4][]byte) (id []byte, answers bool) {
	typ := ""
	if members[0] != nil {
		typ = gjson.ParseBytes(members[0]).Str
	}
	switch {
	case isOutput(typ):
		for _, id := range [][]byte{members[3], members[2], members[1]} {
			if gjson.ParseBytes(id).Str != "" {
				return id, false
			}
		}
		return nil, false
	case callForms[typ] != nil:
		return nil, false
	case len(role) > len(`""`) && role[0] == '"':
		return nil, outline.IsString(role, "assistant")
	case typ == "":
		return nil, members[1] != nil
	}
	return nil, !slices.Contains(neutralTypes, typ)
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
	counts := r.operation == opCount
	text := r.Value(r.operation.history())
	if counts {
		if text.Type == gjson.String { // the items are made of it, and are not in the body
			contents.AddMessage(history.Start, text)
		}
		if instructions, ok := r.At("instructions"); ok {
			contents.AddMessage(instructions.Start, r.Value("instructions"))
		}
	}
	for _, item := range r.input.list() {
		typ := item.Get("type").Str
		id := callIDOf(item)
		switch {
		case typ == approvalResponse:
		case isOutput(typ):
			contents.Add(id, item.Get("output"))
			contents.AddDefinitions(id, item.Get("tools"))
		case isOddMessage(item):
			contents.Add(item.Get("call_id").Str, item.Get("content"))
		case callForms[typ] != nil:
			contents.AddCall(id, item)
		case isModels(item):
			contents.Answered()
		}
		if counts && text.Type != gjson.String && typeOf(item) == "message" && !isOddMessage(item) {
			contents.AddMessage(history.Start, item.Get("content"))
		}
	}
	return contents.List()
}

// isOddMessage reports whether a message is a result of a call: it names one, or has a role that the API does not have.
func isOddMessage(item gjson.Result) bool {
	role := item.Get("role").Str
	if role == "" || role == "assistant" {
		return false
	}
	return item.Get("call_id").Str != "" || !slices.Contains([]string{"user", "system", "developer"}, role)
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
