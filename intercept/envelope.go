package intercept

import "strings"

// Envelope is one HTTP request as a dialect reads and writes it.
type Envelope struct {
	Method string
	Path   string // normalised, after the upstream's prefix
	Query  string // raw, without the question mark
	Body   []byte
}

// Canonical returns path with its end in the spelling of route, and whether it ends in
// route in any letter case. The beginning (an Azure deployment) is kept.
func Canonical(path, route string) (canonical string, ok bool) {
	n := len(path) - len(route)
	if n < 0 || !strings.EqualFold(path[n:], route) {
		return "", false
	}
	return path[:n] + route, true
}
