package turn

import "testing"

func TestStatesHaveNamesAndSteps(t *testing.T) {
	seen := make(map[string]bool)
	for i, row := range states {
		s := State(i)
		if row.name == "" || seen[row.name] {
			t.Errorf("state %d is called %q", i, row.name)
		}
		seen[row.name] = true
		if (row.step == nil) != (s == Ended) {
			t.Errorf("%v: it has a step: %t", s, row.step != nil)
		}
		text, err := s.MarshalText()
		var again State
		if err != nil || again.UnmarshalText(text) != nil || again != s {
			t.Errorf("%v is encoded as %q and decoded as %v, %v", s, text, again, err)
		}
	}
	var s State
	if s.UnmarshalText([]byte("lost")) == nil {
		t.Error("an unknown name is decoded")
	}
}
