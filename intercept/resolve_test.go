package intercept

import "testing"

func TestAssign(t *testing.T) {
	calls := []*Unit{{Call: true}, {}, {Call: true}, {Call: true, Void: true}, {Call: true}}
	plan := Plan{}
	err := plan.assign((&Answer{calls: calls}).pending(), []Ruling{{Action: Release}, {Action: Abort, ModelMessage: "first"}, {Action: Abort}})
	if aborted := plan.Aborted; err != nil || aborted == nil || aborted.ModelMessage != "first" || calls[0].ruling.Action != Release || calls[1].ruled || calls[3].ruled || !calls[4].ruled {
		t.Errorf("%v, %+v", err, plan)
	}
	if err := plan.assign([]*Unit{{Call: true}}, nil); err == nil {
		t.Error("a call without a ruling")
	}
}

func TestPlan(t *testing.T) {
	ruled := func(f Action) *Unit {
		u := &Unit{Call: true}
		u.Rule(Ruling{Action: f, Arguments: "{}"})
		return u
	}
	hidden, void, text := ruled(Release), ruled(Release), &Unit{}
	hidden.Hidden, void.Void = true, true
	for _, c := range []struct {
		name                         string
		unit                         *Unit
		reaches, whenStopped, edited bool
	}{
		{"no call", text, true, true, false},
		{"without a ruling", &Unit{Call: true}, false, false, false},
		{"denied", ruled(Deny), false, false, false},
		{"released", ruled(Release), true, false, false},
		{"edited", ruled(Edit), true, false, true},
		{"aborted", ruled(Abort), false, false, false},
		{"a question to heldcall", hidden, false, false, false},
		{"void", void, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&Plan{}).Reaches(c.unit); got != c.reaches {
				t.Errorf("reaches the agent: %v", got)
			}
			if got := (&Plan{Aborted: &Ruling{}}).Reaches(c.unit); got != c.whenStopped {
				t.Errorf("reaches the agent of a run that was stopped: %v", got)
			}
			if _, got := (&Plan{}).Edit(c.unit); got != c.edited {
				t.Errorf("edited: %v", got)
			}
		})
	}
	if (&Plan{}).AllDenied(nil) || !(&Plan{}).AllDenied([]*Unit{ruled(Deny), hidden}) || (&Plan{}).AllDenied([]*Unit{ruled(Deny), ruled(Edit)}) {
		t.Error("all denied")
	}
}

// TestPadding: the form of an event is matched without its last brace, which has to be
// there all the same.
func TestPadding(t *testing.T) {
	for payload, want := range map[string]string{
		`{"a":1}`: `{"a":1`, `{"a":1  }  `: `{"a":1`, `{"a":1`: "", `{"a":1}}`: `{"a":1}`, ``: "", `}`: "",
	} {
		if got := string(unpadded([]byte(payload))); got != want {
			t.Errorf("%q: %q, want %q", payload, got, want)
		}
	}
}
