package testdeps

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Numbers returns the numbers that an environment variable selects: from the first to the
// last, both included. "FIRST-LAST" is such a range; "N" is the N numbers from first on, and
// so is count where the variable is not set.
func Numbers(t testing.TB, variable string, first, count int) (from, to int) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return first, first + count - 1
	}
	number := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("%s=%s: want N or FIRST-LAST: %v", variable, text, err)
		}
		return n
	}
	if low, high, ok := strings.Cut(text, "-"); ok {
		return number(low), number(high)
	}
	return first, first + number(text) - 1
}
