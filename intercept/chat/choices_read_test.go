package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// LangChain adds a fragment to the first call with its number, whatever its choice, and
// runs what it has of the other: {"cmd":"rm -rf /"} instead of {"cmd":"rm -rf /tmp/junk"}.
func TestFragmentsOfCallsInTwoChoices(t *testing.T) {
	second := func(event string) string {
		return strings.Replace(event, `"choices":[{"index":0`, `"choices":[{"index":1`, 1)
	}
	body := role + opening(0, "call_b", "read", "") + more(0, `{"path":"x"}`) +
		second(opening(0, "call_a", "bash", before)) + second(middle) + second(more(0, after)) + finish + second(finish) + done
	p := play(t, request1, bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
	if out := string(p.Out()); p.Err != nil || strings.Count(out, second(canonical)) != 1 || strings.Contains(out, second(middle)) {
		t.Errorf("error %v; the agent has\n%s", p.Err, out)
	}
}
