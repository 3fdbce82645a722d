package responses

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// TestToolNames: the names of the tools that a request offers are those of their calls; where the provider may keep more, that
// is known.
func TestToolNames(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		want               []string
		more               bool
	}{
		{"POST", "/responses", `{"input":"x","tools":[{"type":"function","name":"a"},{"type":"custom","name":"b"},{"type":"web_search"}]}`, []string{"a", "b"}, false},
		{"POST", "/responses", `{"input":"x","tools":[{"type":"namespace","name":"fs","tools":[{"type":"function","name":"read"}]}]}`, []string{"fs.read"}, false},
		{"POST", "/responses", `{"input":"x","tools":[{"type":"local_shell"},{"type":"shell"},{"type":"apply_patch"},{"type":"computer_use_preview"}]}`, []string{"local_shell", "shell", "apply_patch", "computer"}, false},
		{"POST", "/responses", `{"input":[{"type":"additional_tools","tools":[{"type":"custom","name":"exec"}]},{"role":"user","content":"x"}]}`, []string{"exec"}, false},
		{"POST", "/responses", `{"input":"x","tools":null}`, nil, false},
		{"POST", "/responses", `{"input":"x"}`, nil, false},
		{"POST", "/responses", `{"input":"x","prompt":{"id":"p"}}`, nil, true},
		{"POST", "/responses", `{"input":"x","conversation":"conv_1","tools":[{"type":"function","name":"a"}]}`, []string{"a"}, true},
		{"POST", "/responses", `{"input":"x","conversation":{"id":"conv_1"}}`, nil, true},
		{"POST", "/responses", `{"input":"x","previous_response_id":"resp_1"}`, nil, true},
		{"POST", "/responses", `{"input":"x","previous_response_id":null,"prompt":null,"conversation":null}`, nil, false},
		{"POST", "/responses", `{"input":"x","tools":[{"type":"tool_search","execution":"client"}]}`, []string{"tool_search"}, true},
		{"GET", "/responses/resp_1", ``, nil, true},
		{"POST", "/responses/resp_1/cancel", ``, nil, true},
	} {
		r, err := parseRequest(intercept.Envelope{Method: tt.method, Path: tt.path, Body: []byte(tt.body)})
		if err != nil {
			t.Fatal(tt.body, err)
		}
		if names := r.ToolNames(); !slices.Equal(names.All, tt.want) || names.More != tt.more {
			t.Errorf("%s %s: %+v, want %q, more %t", tt.path, tt.body, names, tt.want, tt.more)
		}
	}
}
