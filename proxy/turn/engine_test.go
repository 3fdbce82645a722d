package turn

import (
	"testing"
	"time"
)

// Heartbeats of turns that began together spread over a quarter of the period, and none is late.
func TestUntilHeartbeat(t *testing.T) {
	const period = 10 * time.Second
	limits := Limits{Keepalive: period}
	early, late := period, time.Duration(0)
	for range 1000 {
		d := limits.untilHeartbeat()
		early, late = min(early, d), max(late, d)
	}
	if early < period*3/4 || late > period {
		t.Errorf("from %v to %v, want from %v to %v", early, late, period*3/4, period)
	}
	if late-early < period/8 {
		t.Errorf("all in %v", late-early)
	}
}
