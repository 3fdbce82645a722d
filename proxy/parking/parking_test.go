package parking

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// When holds are parked. A request began 10 s before its hold.
func TestNew(t *testing.T) {
	const never = -1
	parks := Limits{Park: true, After: 50 * time.Second}
	patient := func(d time.Duration) Limits { return Limits{Park: true, After: 50 * time.Second, Patience: d} }
	for name, tt := range map[string]struct {
		modes  []rule.Hold
		limits Limits
		want   time.Duration // from the beginning of the hold
	}{
		"by configuration":              {[]rule.Hold{""}, parks, 50 * time.Second},
		"not by configuration":          {[]rule.Hold{""}, Limits{After: 50 * time.Second}, never},
		"by rule":                       {[]rule.Hold{rule.HoldPark}, Limits{After: 50 * time.Second}, 50 * time.Second},
		"by rule and by configuration":  {[]rule.Hold{rule.HoldPark, ""}, parks, 50 * time.Second},
		"by rule, another is not":       {[]rule.Hold{rule.HoldPark, ""}, Limits{After: 50 * time.Second}, never},
		"block":                         {[]rule.Hold{rule.HoldBlock}, parks, never},
		"block is among them":           {[]rule.Hold{rule.HoldPark, "", rule.HoldBlock}, parks, never},
		"block, an impatient client":    {[]rule.Hold{rule.HoldBlock}, patient(20 * time.Second), never},
		"a client that waits longer":    {[]rule.Hold{""}, patient(600 * time.Second), 50 * time.Second},
		"a client that waits 60 s":      {[]rule.Hold{""}, patient(60 * time.Second), (60 - 6 - 10) * time.Second},
		"a margin of at least 2 s":      {[]rule.Hold{""}, patient(15 * time.Second), (15 - 2 - 10) * time.Second},
		"a margin of at most the half":  {[]rule.Hold{""}, patient(3 * time.Second), -8500 * time.Millisecond},
		"a client's limit is not known": {[]rule.Hold{""}, patient(0), 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			tt.limits.Began = now.Add(-10 * time.Second)
			got := New(tt.modes, tt.limits, now)
			if tt.want == never && got != (Deadline{}) {
				t.Errorf("parked after %s, want never", got.at.Sub(now))
			}
			if tt.want != never && !got.at.Equal(now.Add(tt.want)) {
				t.Errorf("parked after %s, want %s", got.at.Sub(now), tt.want)
			}
		})
	}
}

// The wait for people continues in steps until the deadline.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(nil, Limits{After: 12 * time.Second}, time.Now())
		for _, want := range []time.Duration{5 * time.Second, 5 * time.Second, 2 * time.Second} {
			if got := d.Within(5 * time.Second); got != want || d.Due() {
				t.Errorf("wait %s, want %s; due: %t", got, want, d.Due())
			}
			time.Sleep(want)
		}
		time.Sleep(time.Second)
		if d.Within(5*time.Second) != 0 || !d.Due() {
			t.Errorf("wait %s after the deadline; due: %t", d.Within(5*time.Second), d.Due())
		}
		if never := (Deadline{}); never.Within(5*time.Second) != 5*time.Second || never.Due() {
			t.Errorf("never: wait %s; due: %t", never.Within(5*time.Second), never.Due())
		}
	})
}
