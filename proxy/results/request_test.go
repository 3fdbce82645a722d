package results

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	for _, n := range []int{0, 1, excerptLength, excerptLength + 1, 3 * excerptLength} {
		text := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
		got := Excerpt(text)
		if whole := got == text; whole != (n <= excerptLength) || !utf8.ValidString(got) || len(got) > excerptLength+50 {
			t.Errorf("%d bytes become %d", n, len(got))
		}
		if n > excerptLength && !strings.Contains(got, "bytes left out") {
			t.Errorf("%d bytes are cut without a mark", n)
		}
	}
}
