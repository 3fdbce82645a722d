package intercepttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Step is a piece of a stream, and the words that the agent gets with it and with no other.
type Step struct {
	Piece string
	Shows []string
}

// Steps plays a stream piece by piece, each cut into blocks of n bytes, whose calls leave when they are complete as far as the
// ruler releases them. The words of all steps are looked for in each. It returns what the agent got at the end of the answer, and
// the error that ended the answer.
func Steps(t *testing.T, r intercept.Request, n int, rule Ruler, steps ...Step) (end string, failed error) {
	t.Helper()
	var words []string
	for _, s := range steps {
		words = append(words, s.Shows...)
	}
	a, p := intercept.NewAnswer(r, intercept.Limits{TurnID: "t1", MaxBytes: 1 << 20, MaxContinuations: 2}), &Played{early: rule}
	a.Begin()
	for i, s := range steps {
		p.Before = nil
		for piece := []byte(s.Piece); len(piece) > 0 && failed == nil; {
			size := min(n, len(piece))
			var out []byte
			out, failed = a.Write(piece[:size])
			piece = piece[size:]
			p.Before = append(p.Before, out...)
			if failed == nil {
				failed = p.release(a)
			}
		}
		for _, w := range words {
			if got, want := strings.Contains(string(p.Before), w), slices.Contains(s.Shows, w); got != want {
				t.Fatalf("step %d, %q reaches the agent: %t, want %t: %s", i, w, got, want, p.Before)
			}
		}
		if failed != nil {
			return "", failed
		}
	}
	p.Before = nil
	out, failed := a.End(true)
	if p.Before = append(p.Before, out...); failed == nil {
		_, failed = p.settle(a, rule)
	}
	return string(p.Before) + string(p.After), failed
}
