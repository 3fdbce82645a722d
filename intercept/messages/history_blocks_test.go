package messages

import "testing"

func TestKey(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"white space in text", `{"type":"text","text":"a b"}`, `{"type":"text","text":" a\nb ","cache_control":{}}`, true},
		{"another text", `{"type":"text","text":"a"}`, `{"type":"text","text":"b"}`, false},
		{"text and thinking", `{"type":"text","text":"a"}`, `{"type":"thinking","thinking":"a"}`, false},
		{"thinking with another signature", `{"type":"thinking","thinking":"a","signature":"x"}`, `{"type":"thinking","thinking":"a","signature":"y"}`, true},
		{"calls", `{"type":"tool_use","id":"a"}`, `{"type":"tool_use","id":"b"}`, true},
		{"results of two tools", `{"type":"mcp_tool_result","tool_use_id":"a"}`, `{"type":"mcp_tool_result","tool_use_id":"b"}`, false},
		{"a result with another content", `{"type":"mcp_tool_result","tool_use_id":"a","content":1}`, `{"type":"mcp_tool_result","tool_use_id":"a","content":2}`, true},
		{"redacted thinking", `{"type":"redacted_thinking","data":"a"}`, `{"type":"redacted_thinking","data":"b"}`, false},
		{"blocks without an id", `{"type":"image","source":1}`, `{"type":"image","source":2}`, true},
	} {
		if got := blockKey(tt.a) == blockKey(tt.b); got != tt.same {
			t.Errorf("%s: equal %t", tt.name, got)
		}
	}
}

func TestAssistantMessage(t *testing.T) {
	text, blank := textBlock("Hello."), textBlock(" \n")
	const thinking, redacted = `{"type":"thinking","thinking":"a"}`, `{"type":"redacted_thinking","data":"a"}`
	for _, tt := range []struct {
		blocks []string
		want   string
	}{
		{nil, ``},
		{[]string{blank, text, blank}, text},
		{[]string{thinking, text}, thinking + "," + text},
		{[]string{text, thinking, blank}, text + "," + thinking + "," + textBlock("…")},
		{[]string{redacted}, redacted + "," + textBlock("…")},
	} {
		if got, want := assistantMessage(tt.blocks), assistant("["+tt.want+"]"); got != want {
			t.Errorf("%q: %s, want %s", tt.blocks, got, want)
		}
	}
}
