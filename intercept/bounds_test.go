package intercept

import (
	"slices"
	"strings"
	"testing"
)

// A stream of nothing but short parts costs more than their bytes.
func TestKeptPartsAreBounded(t *testing.T) {
	const limit = 1 << 16
	var k HoldBuffer[int]
	n := 0
	for k.Hold([]byte(":\n"), 0, limit) == nil {
		n++
	}
	if n < 100 || n > limit/40 {
		t.Errorf("%d parts within %d bytes", n, limit)
	}
}

// Blanks that keep a connection alive are not looked at again without end.
func TestBlanksBeforeABodyAreBounded(t *testing.T) {
	for blanks, understood := range map[string]bool{
		strings.Repeat(" ", 1000):                          true,
		strings.Repeat(strings.Repeat(" ", 1000)+"\n", 50): true,
		strings.Repeat(" ", 50_000):                        false,
	} {
		var b Body
		var err error
		for block := range slices.Chunk([]byte(blanks), 100) {
			if _, err = b.Write(block); err != nil {
				break
			}
		}
		if (err == nil) != understood {
			t.Errorf("%d blanks: %v", len(blanks), err)
		}
	}
}
