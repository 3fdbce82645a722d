package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// A byte order mark counts at the beginning only, so it does not wait with a held
// event that text may overtake: after the text clients would not know the event.
func TestByteOrderMarkIsNotHeld(t *testing.T) {
	for _, n := range blocks {
		p := newPlayer(t, request1, n, intercept.Limits{})
		if err := p.Feed("\ufeff" + opening(0, "a", "x", "{}") + speech + done); err != nil {
			t.Fatal(err)
		}
		if got := p.Got.String(); got != "\ufeff"+speech {
			t.Errorf("in blocks of %d: passed %q", n, got)
		}
	}
	p := play(t, request1, bodies(listed, "\ufeff"+finalWord), nil, intercept.Limits{}, intercepttest.DenyAll)
	if p.Err != nil || strings.Contains(string(p.Out()), "\ufeff") {
		t.Errorf("%v in %q", p.Err, p.Out())
	}
}
