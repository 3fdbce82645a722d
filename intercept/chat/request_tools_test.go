package chat

import (
	"fmt"
	"slices"
	"testing"
)

func TestHosted(t *testing.T) {
	for fields, want := range map[string]string{
		`"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}},{"function":{"name":"g"}},{"name":"h"},null],"functions":[{"name":"f"}]`: "[]",
		`"tools":[{"type":"browser_search"},{"type":"openrouter:web_search"},{"type":"builtin_function","function":{"name":"$web_search"}}]`:                                   "[{browser_search false} {openrouter:web_search false} {builtin_function false}]",
		`"tools":[{"googleSearch":{}},{"googleMaps":{},"type":""},{},"web_search",{"type":["mcp"]},{"type":"Function","function":{"name":"f"}}]`:                               `[{googleSearch false} {googleMaps false} {{} false} {web_search false} {["mcp"] false} {Function false}]`,
		`"tools":[{"type":"mcp","server_label":"a","require_approval":"always"},{"ty\u0070e":"mcp"}]`:                                                                          "[{mcp:a false} {mcp: false}]",
		`"tools":null,"web_search_options":{},"plugins":[{"id":"web"}],"search_parameters":{"mode":"auto"},"enable_search":true`:                                               "[{web_search_options false} {search_parameters false} {enable_search false} {plugin:web false}]",
	} {
		r := parse(t, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+fields+`}`)
		if got := fmt.Sprint(r.Hosted()); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
		if n := r.RequireApproval(); n != 0 {
			t.Errorf("%s: %d require approval, want 0", fields, n)
		}
	}
}

func TestTool(t *testing.T) {
	const body = `{"messages":[],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"type":"custom","custom":{"name":"c","description":"free","parameters":{}}},{"function":{"name":"g","parameters":"none"}}],"functions":[{"name":"old","parameters":{}},{"name":"f","description":"second"}]}`
	r := parse(t, body)
	for name, want := range map[string]string{
		"f":       `{d {"type":"object"} false} true`,
		"c":       "{free  true} true",
		"g":       "{  false} true",
		"old":     "{ {} false} true",
		"missing": "{  false} false",
		"":        "{  false} false",
	} {
		tool, found := r.Tool(name)
		if got := fmt.Sprintf("{%s %s %t} %t", tool.Description, tool.Parameters, tool.FreeText, found); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestOfferedTools(t *testing.T) {
	const f, g = `{"type":"function","function":{"name":"first"}}`, `{"type":"function","function":{"name":"second"}}`
	for _, tt := range []struct {
		fields         string
		offers, forced bool
	}{
		{`"x":1`, false, false},
		{`"tools":[],"functions":null`, false, false},
		{`"tools":[` + f + `],"n":1`, true, false},
		{`"functions":[{"name":"f"}],"n":2`, true, false},
		{`"web_search_options":{}`, true, false},
		{`"tools":[` + f + `],"tool_choice":"required"`, true, true},
		{`"tools":[` + f + `,` + g + `],"tool_choice":"required"`, true, false},
		{`"tools":[` + f + `,` + g + `],"tool_choice":{"type":"function","function":{"name":"first"}}`, true, true},
		{`"functions":[{"name":"f"},{"name":"g"}],"function_call":{"name":"f"}`, true, true},
		{`"tools":[` + f + `],"tool_choice":"auto"`, true, false},
	} {
		r := parse(t, `{"messages":[],`+tt.fields+`}`)
		if r.OffersTools() != tt.offers || (len(r.ForcedTools()) == 1) != tt.forced {
			t.Errorf("%s: offers %t, forced %q", tt.fields, r.OffersTools(), r.ForcedTools())
		}
	}
}

func TestNames(t *testing.T) {
	r := parse(t, `{"messages":[],"tools":[{"function":{"name":"first"}},{"custom":{"name":"second"}},{"name":"third"},{"function":{"name":""}}],"functions":[{"name":"fourth"}]}`)
	for text, want := range map[string]bool{"tool_first_0": true, "second": true, "a third": true, "fourth": true, "fifth": false, "": false} {
		if got := r.names(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestToolNames(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   []string
	}{
		{`"tools":[{"type":"function","function":{"name":"a"}},{"type":"custom","custom":{"name":"b"}},{"function":{"name":"c"}}]`, []string{"a", "b", "c"}},
		{`"functions":[{"name":"d"}]`, []string{"d"}},
		{`"tools":[{"type":"builtin_function","function":{"name":"$web_search"}},{"type":"web_search"}]`, []string{"builtin_function", "$web_search", "web_search"}},
		{`"tools":[{"type":"function","name":"flat"},{"googleSearch":{}},null,"x"]`, []string{"flat"}},
		{`"tools":[]`, nil},
		{`"tools":null`, nil},
		{`"n":1`, nil},
	} {
		r := parse(t, `{"messages":[],`+tt.fields+`}`)
		if names := r.ToolNames(); !slices.Equal(names.All, tt.want) || names.More {
			t.Errorf("%s: %+v", tt.fields, names)
		}
	}
}
