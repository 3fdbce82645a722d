package approvals_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestAllowsOf(t *testing.T) {
	for pattern, want := range map[string]string{
		"bash(go test ./...)": "exactly this",
		"bash(go test:*)":     "`go test` with any operands and harmless options, but for what may hold secrets",
		"bash(gh pr view *)":  "`gh pr view` with any operands and harmless options, but for what may hold secrets",
		"Edit(/work/app/**)":  "every file below /work/app, new ones too, but for what may hold secrets",
		"get_order(*)":        "every call of get_order",
		"bash(cat:./src/**)":  "`cat` with files below ./src and harmless options, but for what may hold secrets",
		"bash(go vet:./**)":   "`go vet` with files below . and harmless options, but for what may hold secrets",
		"bash(ls:/work/a/**)": "`ls` with files below /work/a and harmless options, but for what may hold secrets",
		"Edit(c:/work/a/**)":  "every file below c:/work/a, new ones too, but for what may hold secrets",

		"WebFetch(https://a.example/b/**)": "every page below https://a.example/b",
		`get_order({"id":*})`:              "get_order with these arguments, and any value for each *",
	} {
		if got := approvals.AllowsOf(pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
