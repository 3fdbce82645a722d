package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// LoadConfig reads the configuration file over the defaults and checks the
// whole; an empty file name gives the defaults. Relative paths in the file are
// relative to the file's folder. Problems with the content are reported
// together in a [strictyaml.Errors]. lookup is [os.LookupEnv] outside tests.
func LoadConfig(file string, lookup func(string) (string, bool)) (Config, error) {
	config, problems, err := readConfig(file, lookup)
	if err != nil {
		return Config{}, err
	}
	if len(problems) > 0 {
		return Config{}, problems.In(file)
	}
	return config, nil
}

// LoadConsoleConfig reads only the console's part, for clients of a heldcall that runs
// already: they need none of the secrets and files which the other parts name.
func LoadConsoleConfig(file string, lookup func(string) (string, bool)) (ConsoleConfig, error) {
	config, err := loadParts(file, lookup, "console")
	return config.Console, err
}

// LoadAuditDir reads only the folder of the key and the last checkpoint of the audit log.
func LoadAuditDir(file string, lookup func(string) (string, bool)) (string, error) {
	config, err := loadParts(file, lookup, "audit", "nats")
	return config.AuditDir(), err
}

// loadParts reads the configuration and reports the problems of some parts alone.
func loadParts(file string, lookup func(string) (string, bool), parts ...string) (Config, error) {
	config, problems, err := readConfig(file, lookup)
	if err != nil {
		return Config{}, err
	}
	problems = slices.DeleteFunc(problems, func(p *strictyaml.Error) bool {
		part, _, _ := strings.Cut(p.Key, ".")
		return p.Key != "" && !slices.Contains(parts, part)
	})
	if len(problems) > 0 {
		return Config{}, problems.In(file)
	}
	return config, nil
}

// readConfig reads what can be read and returns it with every problem, in the
// order of the file.
func readConfig(file string, lookup func(string) (string, bool)) (Config, strictyaml.Errors, error) {
	config := DefaultConfig(lookup)
	if file == "" {
		return config, nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return config, nil, fmt.Errorf("read the configuration: %w", err)
	}
	if line, ok := lineOfMark(content); ok {
		return config, strictyaml.Errors{{Line: line, Problem: "the private-use characters U+E000 and U+E001 are not allowed; remove them"}}, nil
	}
	reader := &strictyaml.Reader{Expand: func(text string) (string, error) { return expandReferences(text, lookup) }}
	root := reader.Root(markReferences(content))
	if len(reader.Errors) == 0 {
		if root != nil {
			reader.Decode(root, &config)
		}
		config.Policy.FileNamed, config.NATS.DirNamed = reader.Given("policy.file"), reader.Given("nats.dir")
		config.Proxy.UpstreamsNamed = reader.Given("proxy.upstreams")
		config.resolvePaths(filepath.Dir(file))
		(&configValidator{reader}).validate(&config)
	}
	for _, problem := range reader.Errors {
		problem.Key, problem.Problem = unmarkReferences(problem.Key), unmarkReferences(problem.Problem)
	}
	slices.SortStableFunc(reader.Errors, func(a, b *strictyaml.Error) int { return a.Line - b.Line })
	return config, reader.Errors, nil
}

// resolvePaths makes relative paths relative to the folder of the file. Without a
// file they are relative to the working directory.
func (c *Config) resolvePaths(folder string) {
	paths := []*string{
		&c.Policy.File, &c.NATS.Dir, &c.NATS.Creds, &c.NATS.NKey,
		&c.NATS.TLS.CA, &c.NATS.TLS.Cert, &c.NATS.TLS.Key, &c.Audit.Dir, &c.Secrets.KeyFile,
	}
	for i := range c.Proxy.Clients {
		paths = append(paths, &c.Proxy.Clients[i].Policy)
		for j := range c.Proxy.Clients[i].Workspace {
			paths = append(paths, &c.Proxy.Clients[i].Workspace[j])
		}
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}
