package messages

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// Any number of the provider's verdicts may be beside a denied call: each is read once.
func TestManyVerdicts(t *testing.T) {
	call := `{"type":"tool_use","id":"toolu_secret","name":"bash","input":{}}`
	denied := `{"status":{"tool_uses":{"toolu_secret":{"type":"safe"}}}}`
	list := func(n int) string {
		return strings.Repeat(`{"status":{"tool_uses":{"toolu_other":{"type":"safe"}}}},`, n)
	}
	cost.Linear(t, 1_000, func(n int) func() {
		body := `{"id":"m","type":"message","role":"assistant","model":"m","content":[` + call + `],"stop_reason":"tool_use","stop_sequence":null,"safeguard_results":[` + list(n) + denied + `],"usage":{}}`
		return func() {
			p := play(t, bodies(body), nil, intercept.Limits{MaxBytes: 8 << 20}, func(int, intercept.Call) intercept.Ruling {
				return intercept.Ruling{ModelMessage: intercepttest.Denial, UserMessage: "Not now."}
			})
			if out := string(p.Out()); p.Err != nil || strings.Contains(out, "toolu_secret") || !strings.Contains(out, list(n)+`{"status":{"tool_uses":{}}}`) {
				t.Fatalf("error %v, got %d bytes: %.300s", p.Err, len(out), out)
			}
		}
	})
}
