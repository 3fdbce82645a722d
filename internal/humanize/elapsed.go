// Package humanize writes durations and numbers as people read them.
package humanize

import (
	"fmt"
	"time"
)

// Ago writes a duration with its largest unit only, and "0s" for what lies in
// the future of this machine's clock.
func Ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Left writes how much of a deadline is left, to the second while it presses.
func Left(d time.Duration) string {
	if d >= 10*time.Minute || d < time.Minute {
		return Ago(d)
	}
	return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
}
