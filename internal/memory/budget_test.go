package memory

import "testing"

func TestBudget(t *testing.T) {
	const limit = 8 << 20
	b := NewBudget(limit)
	for _, tt := range []struct {
		n    int64
		ok   bool
		used int64
	}{
		{0, true, 0},
		{limit, false, 0},
		{b.Most() + 1, false, 0},
		{b.Most(), true, b.Most()},
		{smallBytes + 1, false, b.Most()}, // the last part is for small ones
		{smallBytes, true, b.Most() + smallBytes},
	} {
		if ok := b.Reserve(tt.n); ok != tt.ok || b.Used() != tt.used {
			t.Errorf("reserve %d: %t, %d bytes are reserved; want %t, %d", tt.n, ok, b.Used(), tt.ok, tt.used)
		}
	}
	if b.Release(b.Most()); b.Used() != smallBytes {
		t.Errorf("%d bytes stay reserved", b.Used())
	}
	for n, want := range map[int64]bool{1 << 20: true, b.Most() / 2: false} {
		if got := b.Leaves(n); got != want {
			t.Errorf("leaves %d: %t", n, got)
		}
	}
	if b.Release(smallBytes); !b.Leaves(b.Most()) {
		t.Error("a budget of which nothing is used does not take what it could")
	}
	var none *Budget
	if none.Release(1); !none.Reserve(1<<60) || !none.Leaves(1<<60) || none.Used() != 0 {
		t.Error("a nil budget has a limit")
	}
}
