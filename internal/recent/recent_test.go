package recent

import (
	"strconv"
	"testing"
)

func sizeOf(text string) int { return len(text) }

// Used entries stay, and the number and size of the entries are bounded.
func TestMap(t *testing.T) {
	m := New[int, string](10, 1000)
	m.Put(-1, "kept", 4)
	for i := range 100 {
		m.Put(i, strconv.Itoa(i), 2)
		if got, ok := m.Get(-1, sizeOf); !ok || got != "kept" {
			t.Fatalf("after %d others: %q, %t", i+1, got, ok)
		}
		if n := len(m.recent) + len(m.previous); n > 20 {
			t.Fatalf("%d entries are kept", n)
		}
	}
	if _, ok := m.Get(1, sizeOf); ok {
		t.Error("an entry that was not used is kept")
	}
	for i := range 100 {
		m.Put(i, "", 400)
		if m.size > 1000 {
			t.Fatalf("the entries have %d bytes", m.size)
		}
	}
}
