package notify

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = 250 * time.Millisecond
	maxPause   = time.Minute
)

// pause is how long to wait after a number of failed attempts: it doubles from
// firstPause to maxPause, and half of it is left to chance, so that what failed
// together does not come again together.
func pause(attempts int) time.Duration {
	whole := maxPause
	if shift := attempts - 1; shift < 10 {
		whole = min(firstPause<<max(shift, 0), maxPause)
	}
	return whole/2 + rand.N(whole/2)
}
