package policy

import (
	"strings"
	"testing"
)

// Finding 33: previews show arguments in the model's order, and nothing can be pushed out
// of them by white space.
func TestFinding33_PreviewsShowWhatTheModelWrote(t *testing.T) {
	p := mustParse(t, "tools:\n  bash: {resource: command, as: shell}\n")
	for _, tt := range []struct{ tool, arguments, want string }{
		{"transfer", `{"to":"bob", "amount":5,"a":{"z":1,"b":2}}`, `{"to":"bob","amount":5,"a":{"z":1,"b":2}}`},
		{"transfer", `{"note":"` + strings.Repeat(" ", 400) + `x","amount":5}`, `{"note":"⟨400 spaces⟩x","amount":5}`},
		{"bash", argument("command", "ls"+strings.Repeat(" ", 300)+"; rm -rf /"), "ls⟨300 spaces⟩; rm -rf /"},
		{"bash", argument("command", "ls"+strings.Repeat("\n", 300)+"rm -rf /"), "ls⟨300 spaces⟩rm -rf /"},
		{"bash", argument("command", "ls"+strings.Repeat(" \t", 150)+"; rm -rf /"), "ls⟨300 spaces⟩; rm -rf /"},
		{"bash", argument("command", "ls   x"), "ls   x"},
	} {
		if v := p.Judge(Call{Tool: tt.tool, Arguments: tt.arguments}); v.Preview != tt.want {
			t.Errorf("%s: the preview is %q, want %q", tt.arguments[:20], v.Preview, tt.want)
		}
	}
}
