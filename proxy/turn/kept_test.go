package turn

import (
	"errors"
	"testing"
)

// What is kept of an answer reserves its memory while it is read, and returns most of it while people decide.
func TestKept(t *testing.T) {
	const room = 1 << 20
	agent := &recorder{memory: room}
	o := &output{agent: agent}
	for range 10 { // text, which passes
		if err := o.keep(0); err != nil || agent.memory != room {
			t.Fatalf("%v, %d bytes are left", err, agent.memory)
		}
	}
	for range 8 {
		if err := o.keep(10 << 10); err != nil {
			t.Fatal(err)
		}
	}
	if used := room - agent.memory; used < (80<<10-freeKeptBytes)*bytesKept || used != o.kept.reserved {
		t.Errorf("%d bytes are reserved for 80 KiB", used)
	}
	if o.returnKept(); room-agent.memory != 80<<10*bytesWaiting {
		t.Errorf("%d bytes are reserved while people decide", room-agent.memory)
	}
	if err := o.keep(room); !errors.Is(err, ErrOverloaded) {
		t.Errorf("more than there is: %v", err)
	}
}
