package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// LoadConfig reads the configuration file over the defaults and checks the
// whole; an empty file name gives the defaults. Relative paths in the file are
// relative to the file's folder. Problems with the content are reported
// together in a [*ConfigError]. lookup is [os.LookupEnv] outside tests.
func LoadConfig(file string, lookup func(string) (string, bool)) (Config, error) {
	config, problems, err := readConfig(file, lookup)
	if err != nil {
		return Config{}, err
	}
	if len(problems) > 0 {
		return Config{}, &ConfigError{File: file, Problems: problems}
	}
	return config, nil
}

// LoadConsoleConfig reads only the console's part, for who talks to a heldcall
// that runs already: that needs none of the secrets and files which the other
// parts name.
func LoadConsoleConfig(file string, lookup func(string) (string, bool)) (ConsoleConfig, error) {
	config, problems, err := readConfig(file, lookup)
	if err != nil {
		return ConsoleConfig{}, err
	}
	problems = slices.DeleteFunc(problems, func(p ConfigProblem) bool {
		return p.Key != "" && p.Key != "console" && !strings.HasPrefix(p.Key, "console.")
	})
	if len(problems) > 0 {
		return ConsoleConfig{}, &ConfigError{File: file, Problems: problems}
	}
	return config.Console, nil
}

// readConfig reads what can be read and returns it with every problem, in the
// order of the file.
func readConfig(file string, lookup func(string) (string, bool)) (Config, []ConfigProblem, error) {
	config := DefaultConfig(lookup)
	if file == "" {
		return config, nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return config, nil, fmt.Errorf("read the configuration: %w", err)
	}
	root, problem := parseYAML(content)
	if problem != nil {
		return config, []ConfigProblem{*problem}, nil
	}
	r := configReader{lookup: lookup, lines: map[string]int{}}
	if root != nil {
		r.read(root, &config)
	}
	config.Policy.FileNamed, config.NATS.DirNamed = r.given("policy.file"), r.given("nats.dir")
	config.resolvePaths(filepath.Dir(file))
	r.validate(&config)
	slices.SortStableFunc(r.problems, func(a, b ConfigProblem) int { return a.Line - b.Line })
	return config, r.problems, nil
}

// resolvePaths makes relative paths relative to the folder of the file. What
// stands in no file is relative to the working directory.
func (c *Config) resolvePaths(folder string) {
	paths := []*string{
		&c.Policy.File, &c.NATS.Dir, &c.NATS.Creds, &c.NATS.NKey,
		&c.NATS.TLS.CA, &c.NATS.TLS.Cert, &c.NATS.TLS.Key,
	}
	for i := range c.Proxy.Clients {
		paths = append(paths, &c.Proxy.Clients[i].Policy)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}

// parseYAML returns the root node of the only document, or nil if the file
// holds none. References to the environment are marked before parsing, so that
// ${NAME} may stand unquoted in a flow mapping, and expanded after it.
func parseYAML(content []byte) (*yaml.Node, *ConfigProblem) {
	if line, ok := lineOfMark(content); ok {
		return nil, &ConfigProblem{Line: line, Reason: "the private-use characters U+E000 and U+E001 are not allowed; remove them"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(markReferences(content)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxProblem(err, bytes.Count(content, []byte("\n"))+1)
	}
	var next yaml.Node
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, syntaxProblem(err, bytes.Count(content, []byte("\n"))+1)
		}
		return nil, &ConfigProblem{Line: next.Line, Reason: "a second YAML document starts here; keep one"}
	}
	return document.Content[0], nil
}

var syntaxMessage = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// syntaxProblem takes the line out of the library's error text. Its parser
// counts lines from 0 where its scanner counts them from 1; the parser's
// messages all begin alike.
func syntaxProblem(err error, lines int) *ConfigProblem {
	parts := syntaxMessage.FindStringSubmatch(err.Error())
	if parts == nil {
		return &ConfigProblem{Reason: unmarkReferences(err.Error())}
	}
	line, _ := strconv.Atoi(parts[1])
	if strings.HasPrefix(parts[2], "did not find expected") {
		line = min(line+1, lines)
	}
	reason := "not valid YAML: " + unmarkReferences(parts[2])
	if strings.Contains(reason, "cannot start any token") {
		reason += "; indent with spaces, not with tabs, and put quotes around such texts"
	}
	return &ConfigProblem{Line: line, Reason: reason}
}
