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

// longestRest is the longest that a service can make its channel pause.
const longestRest = 15 * time.Minute

// bounded is the pause that a service asked for, as far as it is taken at its word: no
// less than after any other failure, and not for ever.
func bounded(asked time.Duration, attempts int) time.Duration {
	return min(max(asked, pause(attempts)), longestRest)
}
