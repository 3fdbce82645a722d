package humanize

import "strconv"

// Count returns a number with a noun, such as "1 case" or "3 cases".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
