package turn

import "testing"

// An answer that is too long, or for which there is no memory, is not kept.
func TestKeptAnswersAreBounded(t *testing.T) {
	piece := make([]byte, 1<<20)
	for name, k := range map[string]*keptAnswers{
		"too long": {reserve: func(int) bool { return true }}, "no memory": {reserve: func(int) bool { return false }},
	} {
		k.Exchanges = make([]keptAnswer, 1)
		for range maxKept/len(piece) + 1 {
			k.keep(piece)
		}
		if !k.dropped || k.Exchanges != nil {
			t.Errorf("%s: it is kept", name)
		}
		k.end(true)
		k.keepRulings(nil)
	}
}
