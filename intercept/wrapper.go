package intercept

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Wrapped returns the calls that a call of the wrapper multi_tool_use.parallel
// stands for. Models make such a call up, some servers pass it on, and some
// clients take it apart; so it is judged by what it wraps. It is false for every
// other call. A wrapper that cannot be read wraps nothing.
func (c Call) Wrapped() (calls []Call, ok bool) {
	name := strings.ToLower(c.Name)
	if name != "parallel" && !strings.HasPrefix(name, "multi_tool_use") {
		return nil, false
	}
	if Strict([]byte(c.Arguments)) != nil {
		return nil, true
	}
	uses := gjson.Get(c.Arguments, "tool_uses")
	if !uses.IsArray() {
		return nil, name != "parallel" // a tool may well be called parallel
	}
	for _, use := range uses.Array() {
		recipient, parameters := use.Get("recipient_name"), use.Get("parameters")
		if recipient.Type != gjson.String || !parameters.IsObject() {
			return nil, true
		}
		calls = append(calls, Call{Name: strings.TrimPrefix(recipient.Str, "functions."), Arguments: parameters.Raw, Ambiguous: c.Ambiguous})
	}
	return calls, true
}
