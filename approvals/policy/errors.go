package policy

import (
	"fmt"
	"strings"
)

// Error is one mistake in a policy file.
type Error struct {
	File    string
	Line    int    // 0 where the file as a whole is meant
	Key     string // such as rules[2].allow[0]; "" where the YAML itself is wrong
	Problem string
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Key != "" {
		where += ": " + e.Key
	}
	return where + ": " + e.Problem
}

// Errors are all the mistakes found in a policy file, by line. [Load] and
// [Parse] return this type.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each mistake to errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}
