package wrapped

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept"
)

// Fields in which wrappers have the name and the arguments of a call, in any of their forms.
var (
	nameFields     = []string{"name", "tool", "tool_name", "toolName", "recipient_name", "function", "function_name"}
	argumentFields = []string{"arguments", "args", "parameters", "params", "input", "tool_input", "toolInput"}
)

// maxPossible bounds the calls that agents may find in one that is not read with certainty.
const maxPossible = 50

// possibleCalls returns the calls that agents may find in a call of a wrapper that is not read with certainty: each name
// with each of the arguments beside it. All is false if there are more.
func possibleCalls(c intercept.Call) (calls []intercept.Call, all bool) {
	if c.FreeText || !Wraps(c.Name) {
		return nil, true
	}
	var read func(v gjson.Result, depth int)
	read = func(v gjson.Result, depth int) {
		var names []string
		var arguments []intercept.Call // without names
		v.ForEach(func(key, value gjson.Result) bool {
			switch {
			case slices.Contains(argumentFields, key.Str):
				text := objectText(value)
				arguments = append(arguments, intercept.Call{Arguments: text})
				if text == "" {
					arguments[len(arguments)-1] = intercept.Call{Arguments: value.String(), FreeText: true}
				}
			case value.Type == gjson.String && slices.Contains(nameFields, key.Str):
				names = append(names, value.Str)
			}
			if nested := gjson.Parse(objectText(value)); depth < maxDepth && (value.IsArray() || nested.IsObject()) {
				if nested.IsObject() {
					value = nested
				}
				read(value, depth+1)
			}
			return len(calls) <= maxPossible
		})
		for _, name := range names {
			for _, call := range arguments {
				call.Name = name
				calls = append(calls, call)
			}
		}
	}
	read(gjson.Parse(c.Arguments), 0)
	return calls[:min(len(calls), maxPossible)], len(calls) <= maxPossible
}
