package conversation

import "testing"

func TestSuffix(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 100 {
		s := suffix(i)
		if seen[s] {
			t.Fatalf("suffix %q repeats at %d", s, i)
		}
		seen[s] = true
	}
	if suffix(0) != "" {
		t.Errorf("the first suffix is %q", suffix(0))
	}
}
