package policy

import (
	"crypto/sha256"

	"github.com/heldcall/heldcall/internal/recent"
)

// The bounds of one generation of the memory: see package recent. A verdict takes about 100
// bytes, and those of its redacted texts.
const (
	maxRemembered     = 50_000
	maxRememberedText = 16 << 20
)

// ResultKey identifies a result and the call that had it.
type ResultKey [sha256.Size]byte

// resultMemory has verdicts on results that were judged: the history of an agent contains
// them again in each request.
type resultMemory = recent.Map[ResultKey, *ResultVerdict]

func newResultMemory() *resultMemory {
	return recent.New[ResultKey, *ResultVerdict](maxRemembered, maxRememberedText)
}

// size is the number of bytes of the redacted texts.
func (v *ResultVerdict) size() (n int) {
	for _, text := range v.Redacted {
		n += len(text)
	}
	return n
}
