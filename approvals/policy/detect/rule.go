package detect

import (
	"regexp"
	"strings"
)

// rule finds parts of one kind.
type rule struct {
	kind  string   // of what it finds, for the text that replaces it; "" for a regular expression of a policy
	marks []string // a text without any of them has no match; none: any text may have
	find  *regexp.Regexp
}

func token(kind, pattern string, marks ...string) rule {
	return rule{kind, marks, regexp.MustCompile(pattern)}
}

// mayMatch reports whether a text has one of the marks.
func (r *rule) mayMatch(text string) bool {
	for _, mark := range r.marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return len(r.marks) == 0
}
