package intercepttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
)

// toolLists are values of the field tools.
var toolLists = []string{
	`[]`, `null`, `{}`, `"x"`, `[null]`, `["web_search"]`, `[{}]`, `[{"type":null}]`, `[{"name":"f"}]`, `[{"google_search":{}}]`,
	`[{"type":"function","function":{"name":"f"}},{"type":"custom"}]`, `[{"type":"web_search_20250305","name":"w"}]`,
	`[{"type":"f\u0075nction"},{"type":"bash_20250124"}]`, `[{"\u0074ype":"mcp","server_label":"l"}]`, `[{"type":"namespace","tools":[{"type":"mcp"}]}]`,
	`[{"type":[{"type":"function"}]},{"x":[{"type":"mcp"}],"type":"function"}]`, `{"a":{"type":"web_search"}}`,
}

// FuzzHosted holds the tools of the provider that a request offers, as they are found after its strict
// reading, against those that a reading of all its tools finds. Read returns a request with a history in a
// field, and its list of tools.
func FuzzHosted(f *testing.F, history string, read func(body []byte) (intercept.Request, *outline.Tools, error)) {
	f.Helper()
	for _, tools := range toolLists {
		f.Add(fmt.Appendf(nil, `{%q:[],"tools":%s}`, history, tools))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, tools, err := read(body)
		if err != nil {
			return
		}
		hosted, offers := r.Hosted(), r.OffersTools()
		tools.Others = true // reads all
		if all := r.Hosted(); !slices.Equal(hosted, all) {
			t.Fatalf("%q: found %v of %v", body, hosted, all)
		}
		if len(hosted) > 0 && !offers {
			t.Fatalf("%q offers no tools, but %v", body, hosted)
		}
	})
}
