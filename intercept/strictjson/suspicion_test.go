package strictjson

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestSuspect(t *testing.T) {
	tests := []struct {
		json string
		bad  bool
	}{
		{`{"tokens":3,"cached":{"a":1}}`, false},
		{`{"web_search_calls":4,"flag_call":true,"tool_calls":null,"x_calls":[],"y_call":"","z_call":{}}`, false},
		{`{"tool_calls":[{"id":"1"}]}`, true},
		{`{"browser_call":{"url":"x"}}`, true},
		{`{"BROWSER_Call":"x"}`, true},
		{`{"a":[{"b":{"shell_calls":["ls"]}}]}`, true},
		{`{"name":"bash","arguments":{"command":"ls"}}`, true},
		{`{"input":"ls","type":"x","name":"bash"}`, true},
		{`{"name":"gpt","size":"big"}`, false},
		{`{"type":"tool_use","id":"x"}`, true},
		{`{"type":"function_call"}`, true},
		{`{"type":"text","text":"please call me"}`, false},
		{`"call"`, false},
		{`{"NAME":"bash","argument\u017f":"{}"}`, true},
		{strings.Repeat(`[`, 20) + strings.Repeat(`]`, 20), false},
		{strings.Repeat(`{"a":`, 9000) + `{"a_call":1}` + strings.Repeat(`}`, 9000), true},
		{strings.Repeat(`{"a":`, 9000) + `"a call"` + strings.Repeat(`}`, 9000), false},
		{strings.Repeat(`{"a":`, 9000) + `"text"` + strings.Repeat(`}`, 9000), false},
	}
	for _, tt := range tests {
		if got := Suspect("", gjson.Parse(tt.json)); (got != "") != tt.bad {
			t.Errorf("%.80s: got %q, want bad=%v", tt.json, got, tt.bad)
		}
	}
}

func TestMisspelt(t *testing.T) {
	if !Misspelt("Tool_Calls", "tool_calls") || !Misspelt("tool_callſ", "tool_calls") || Misspelt("tool_calls", "tool_calls") || Misspelt("tool", "tool_calls") {
		t.Error("wrong")
	}
}
