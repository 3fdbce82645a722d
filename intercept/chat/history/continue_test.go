package history

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

func TestContinuationRequest(t *testing.T) {
	for _, tt := range []struct{ body, path, want string }{
		{`{"messages":[ ]}`, "messages.#", "2"},
		{`{"messages":[],"tool_choice":{"type":"function","function":{"name":"x"}}}`, "tool_choice", `"auto"`},
		{`{"messages":[],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[1]}}}`, "tool_choice", `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[1]}}`},
		{`{"messages":[],"tool_choice":"none"}`, "tool_choice", `"none"`},
		{`{"messages":[],"function_call":{"name":"x"}}`, "function_call", `"auto"`},
		{`{"messages":[],"tool\u005fchoice":"any"}`, "tool_choice", `"auto"`},
	} {
		next, err := parse(t, tt.body).Extend([]string{"{}", "{}"})
		if err != nil || strictjson.Strict(next.Body) != nil {
			t.Errorf("%s: %v: %s", tt.body, err, next.Body)
			continue
		}
		if got := gjson.GetBytes(next.Body, tt.path); got.Raw != tt.want && got.String() != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.body, tt.path, got, tt.want)
		}
	}
}
