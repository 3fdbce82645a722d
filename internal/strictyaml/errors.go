package strictyaml

import (
	"fmt"
	"strings"
)

// Error is one mistake in a file, and what to do about it.
type Error struct {
	File    string // "" if there is no file
	Line    int    // from 1; 0 where the file as a whole is meant, or the key is not in it
	Key     string // path, such as rules[2].allow[0]; "" where the YAML itself is wrong
	Problem string
}

// Error returns file:line: key: problem.
func (e *Error) Error() string {
	text := e.Problem
	if e.Key != "" {
		text = e.Key + ": " + text
	}
	switch {
	case e.File == "":
		return text
	case e.Line == 0:
		return e.File + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, text)
}

// Errors are all the mistakes found in a file, by line.
type Errors []*Error

// Error returns the mistakes, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// In names the file of the mistakes, and returns them.
func (e Errors) In(file string) Errors {
	for _, one := range e {
		one.File = file
	}
	return e
}

// Unwrap gives each mistake to errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}
