package runs

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// TestAnsweredAt: a run has the time of its last answer while that has no calls, no turn is served and no request is pending.
func TestAnsweredAt(t *testing.T) {
	one := &activeRun{run: approvals.Run{ID: "r", State: approvals.RunRunning, ActiveAt: opened}, answered: opened, asking: map[string]bool{}}
	if got := one.merge(approvals.Run{}, false).AnsweredAt; !got.Equal(opened) {
		t.Errorf("answered at %s", got)
	}
	if got := one.merge(approvals.Run{State: approvals.RunRunning, ActiveAt: opened.Add(time.Minute)}, true).AnsweredAt; !got.IsZero() {
		t.Errorf("another process serves it: answered at %s", got)
	}
	one.asking["q"] = true
	if got := one.merge(approvals.Run{}, false).AnsweredAt; !got.IsZero() {
		t.Errorf("with a pending request: answered at %s", got)
	}
}

// TestIsIdle: a running run is idle a minute after the answer.
func TestIsIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		run   approvals.Run
		after time.Duration
		want  bool
	}{
		"at once":         {approvals.Run{State: approvals.RunRunning, AnsweredAt: opened}, 59 * time.Second, false},
		"a minute later":  {approvals.Run{State: approvals.RunRunning, AnsweredAt: opened}, time.Minute, true},
		"not answered":    {approvals.Run{State: approvals.RunRunning}, time.Hour, false},
		"paused":          {approvals.Run{State: approvals.RunPaused, AnsweredAt: opened}, time.Hour, false},
		"ended, answered": {approvals.Run{State: approvals.RunEnded, AnsweredAt: opened}, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.run.IsIdle(opened.Add(tt.after)); got != tt.want {
				t.Errorf("idle: %t", got)
			}
		})
	}
}
