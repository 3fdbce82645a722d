package mask

import (
	"regexp"
	"strings"
)

// Name is the form of the names of secrets, which are those of environment variables.
const Name = `[A-Za-z_][A-Za-z0-9_]{0,63}`

var handles = regexp.MustCompile(Scheme + `(` + Name + `)`)

// Place is where a text has a handle.
type Place struct {
	From, To int
	Name     string
}

// Handles returns the handles in a text, in their order.
func Handles(text string) []Place {
	var found []Place
	for _, at := range handles.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, Place{at[0], at[1], text[at[2]:at[3]]})
	}
	return found
}

// WithoutHandles returns a text with an x in place of each handle.
func WithoutHandles(text string) string {
	if !strings.Contains(text, Scheme) {
		return text
	}
	return handles.ReplaceAllLiteralString(text, "x")
}
