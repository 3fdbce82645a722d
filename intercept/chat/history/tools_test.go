package history

import (
	"fmt"
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
