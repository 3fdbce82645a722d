// Package strictyaml reads YAML files that people write, the configuration and policies, and
// reports every mistake in them with its line and the path of its key.
package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document returns the root of the only YAML document in a file, or nil if the file
// contains no value. The error names no file.
func Document(content []byte) (*yaml.Node, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err, bytes.Count(content, []byte("\n"))+1)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, &Error{Line: next.Line, Problem: "a second YAML document starts here; keep one"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err, bytes.Count(content, []byte("\n"))+1)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil
	}
	return root, nil
}

var syntaxMessage = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError takes the line out of the library's error text. Its parser counts
// lines from 0 where its scanner counts them from 1; the parser's messages all begin
// alike.
func syntaxError(err error, lines int) *Error {
	parts := syntaxMessage.FindStringSubmatch(err.Error())
	if parts == nil {
		return &Error{Problem: err.Error()}
	}
	line, _ := strconv.Atoi(parts[1])
	if strings.HasPrefix(parts[2], "did not find expected") {
		line = min(line+1, lines)
	}
	problem := "not valid YAML: " + parts[2]
	if strings.Contains(problem, "cannot start any token") {
		problem += "; indent with spaces, not with tabs, and put quotes around such texts"
	}
	return &Error{Line: line, Problem: problem}
}
