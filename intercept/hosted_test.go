package intercept

import (
	"fmt"
	"testing"
)

func TestHostedBeside(t *testing.T) {
	form := RequestSchema{API: "test", Fields: HostedFields, History: "messages"}
	for body, want := range map[string]string{
		`{}`: "[]",
		`{"web_search_options":null,"search_parameters":{"mode":"off"},"enable_search":false,"plugins":[]}`:              "[]",
		`{"web_search_options":{},"search_parameters":{},"enable_search":true}`:                                          "[{web_search_options false} {search_parameters false} {enable_search false}]",
		`{"search_parameters":{"mode":"auto"},"plugins":[{"id":"web"},{"id":"x","enabled":false},"y",{"enabled":null}]}`: "[{search_parameters false} {plugin:web false} {plugin: false} {plugin: false}]",
		`{"plugins":{"id":"web"},"search_par\u0061meters":"on"}`:                                                         "[{search_parameters false} {plugins false}]",
	} {
		var asked ParsedRequest
		err := asked.Accept(&form, Envelope{Body: []byte(body)})
		if got := fmt.Sprint(asked.HostedBeside()); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
	}
}

// A hosted MCP server is named by what the agent cannot choose freely.
func TestHostedMCP(t *testing.T) {
	for _, tt := range []struct{ address, connector, label, want string }{
		{"https://mcp.example/v1/sse?key=secret#x", "", "gh", "mcp:https://mcp.example/v1/sse"},
		{"HTTPS://MCP.Example:443/x%2Fy", "", "gh", "mcp:https://mcp.example/x%2Fy"},
		{"http://mcp.example:8080", "", "gh", "mcp:http://mcp.example:8080"},
		{"", "connector_dropbox", "gh", "mcp:connector_dropbox"},
		{"", "", "gh", "mcp:gh"},
		{"https://good.example@evil.example/", "", "gh", "mcp:"},
		{"https://good.example\\@evil.example/", "", "gh", "mcp:"},
		{"https://good.example/mcp/%2e%2e/evil", "", "gh", "mcp:"},
		{"evil.example", "", "gh", "mcp:"},
		{"file:///good.example", "", "gh", "mcp:"},
		{"https://good.example", "connector_dropbox", "gh", "mcp:"},
		{"", "https://good.example/", "gh", "mcp:"},
		{"", "", "https://good.example/", "mcp:"},
		{"", "", "", "mcp:"},
	} {
		if got := HostedMCP(tt.address, tt.connector, tt.label); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
