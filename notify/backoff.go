package notify

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = 250 * time.Millisecond
	maxPause   = time.Minute
)

// pause returns how long to wait after a number of failed attempts: it doubles from
// firstPause to maxPause, and half of it is random, so that deliveries that failed
// together are not repeated together.
func pause(attempts int) time.Duration {
	whole := maxPause
	if shift := attempts - 1; shift < 10 {
		whole = min(firstPause<<max(shift, 0), maxPause)
	}
	return whole/2 + rand.N(whole/2)
}

// longestPause is the longest that a service can make its channel pause.
const longestPause = 15 * time.Minute

// bounded returns the pause that a service asked for within limits: no less than after
// as many failures of one delivery, and at most longestPause.
func bounded(asked time.Duration, pauses int) time.Duration {
	return min(max(asked, pause(pauses)), longestPause)
}
