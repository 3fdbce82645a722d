package messages

import (
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// Any number of the provider's verdicts may be beside a denied call: each is read once.
func TestManyVerdicts(t *testing.T) {
	call := `{"type":"tool_use","id":"toolu_secret","name":"bash","input":{}}`
	other := `{"status":{"tool_uses":{"toolu_other":{"type":"safe"}}}},`
	denied := `{"status":{"tool_uses":{"toolu_secret":{"type":"safe"}}}}`
	list := strings.Repeat(other, 8_000)
	body := `{"id":"m","type":"message","role":"assistant","model":"m","content":[` + call + `],"stop_reason":"tool_use","stop_sequence":null,"safeguard_results":[` + list + denied + `],"usage":{}}`
	began := time.Now()
	p := play(t, bodies(body), nil, intercept.Limits{MaxBytes: 8 << 20}, func(int, intercept.Call) intercept.Ruling {
		return intercept.Ruling{ModelMessage: intercepttest.Denial, UserMessage: "Not now."}
	})
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("8,000 verdicts took %v", d)
	}
	if out := string(p.Out()); p.Err != nil || strings.Contains(out, "toolu_secret") || !strings.Contains(out, list+`{"status":{"tool_uses":{}}}`) {
		t.Errorf("error %v, got %d bytes: %.300s", p.Err, len(out), out)
	}
}
