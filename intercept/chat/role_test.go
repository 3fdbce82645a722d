package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// LangChain keeps the role of an event for the events after it, and reads no call in one
// that is not of the assistant. Without the fragment after the change of the role it runs
// {"cmd":"rm -rf /"} instead of {"cmd":"rm -rf /tmp/junk"}.
func TestRoleThatChangesBetweenFragments(t *testing.T) {
	for _, foreign := range []string{`"user"`, `"tool"`, `""`, `5`, `{}`} {
		for name, change := range map[string]string{
			"choice 0":    event(`{"role":`+foreign+`,"content":""}`, "null"),
			"with a text": event(`{"role":`+foreign+`,"content":"x"}`, "null"),
			"choice 1":    strings.Replace(event(`{"role":`+foreign+`,"content":"x"}`, "stop"), `"choices":[{"index":0`, `"choices":[{"index":1`, 1),
		} {
			back := strings.Replace(change, foreign, `"assistant"`, 1)
			for _, body := range []string{lead + change + middle + back + tail, change + lead + middle + tail, lead + middle + change + tail} {
				p := play(t, request1, bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
				if p.Err != nil || len(p.Calls[0]) != 1 || strings.Count(string(p.Out()), `"arguments"`) != 1 {
					t.Errorf("role %s in %s: error %v, calls %+v; the agent has\n%s", foreign, name, p.Err, p.Calls, p.Out())
				}
			}
		}
	}
}
