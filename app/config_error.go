package app

import (
	"fmt"
	"strings"
)

// ConfigError says everything that is wrong with a configuration.
type ConfigError struct {
	File     string // "" if there is no file
	Problems []ConfigProblem
}

// ConfigProblem is one thing that is wrong, and what to do about it.
type ConfigProblem struct {
	Line   int    // from 1; 0 if the key is not in the file
	Key    string // path of the key, such as proxy.upstreams[0].url
	Reason string
}

// Error lists the problems, one a line: file:line: key: reason.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		var at strings.Builder
		if e.File != "" {
			at.WriteString(e.File + ":")
			if p.Line > 0 {
				fmt.Fprintf(&at, "%d:", p.Line)
			}
			at.WriteString(" ")
		}
		if p.Key != "" {
			at.WriteString(p.Key + ": ")
		}
		lines[i] = at.String() + p.Reason
	}
	return strings.Join(lines, "\n")
}
