package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// Finding H1: an event of a known shape has the id that the answer had before it got
// its real one. openai-go drops such an event.
func TestKnownShapeWithTheEmptyID(t *testing.T) {
	unnamed := func(events string) string { return strings.ReplaceAll(events, `"id":"c1"`, `"id":""`) }
	body := unnamed(role+opening(0, "call_a", "bash", "")+more(0, `{"cmd":"rm -rf /`)) + event(`{"content":"x"}`, "null") +
		unnamed(more(0, "tmp/junk")) + more(0, `"}`) + finish + done
	p := play(t, request1, bodies(body), nil, intercept.Limits{}, intercepttest.ReleaseAll)
	if p.Err != nil || len(p.Calls[0]) != 1 {
		t.Errorf("error %v, calls %+v", p.Err, p.Calls)
	}
	if out := string(p.Out()); !strings.Contains(out, opening(0, "call_a", "bash", `{"cmd":"rm -rf /tmp/junk"}`)) {
		t.Errorf("the agent got %s", out)
	}
}
