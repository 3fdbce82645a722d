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
		config.resolvePaths(reader, filepath.Dir(file))
		(&configValidator{reader}).validate(&config)
	}
	for _, problem := range reader.Errors {
		problem.Key, problem.Problem = unmarkReferences(problem.Key), unmarkReferences(problem.Problem)
	}
	slices.SortStableFunc(reader.Errors, func(a, b *strictyaml.Error) int { return a.Line - b.Line })
	return config, reader.Errors, nil
}

// resolvePaths makes relative paths relative to the folder of the file, and those that begin with ~/ to the user's home.
// Without a file they are relative to the working directory.
func (c *Config) resolvePaths(reader *strictyaml.Reader, folder string) {
	type path struct {
		key string
		at  *string
	}
	paths := []path{
		{"policy.file", &c.Policy.File},
		{"nats.dir", &c.NATS.Dir},
		{"nats.creds", &c.NATS.Creds},
		{"nats.nkey", &c.NATS.NKey},
		{"nats.tls.ca", &c.NATS.TLS.CA},
		{"nats.tls.cert", &c.NATS.TLS.Cert},
		{"nats.tls.key", &c.NATS.TLS.Key},
		{"audit.dir", &c.Audit.Dir},
		{"secrets.key_file", &c.Secrets.KeyFile},
	}
	for i := range c.Proxy.Upstreams {
		u, key := &c.Proxy.Upstreams[i], strictyaml.Index("proxy.upstreams", i)
		paths = append(paths, path{strictyaml.Join(key, "ca"), &u.CA}, path{strictyaml.Join(key, "cert"), &u.Cert}, path{strictyaml.Join(key, "key"), &u.Key})
	}
	for i := range c.Proxy.Clients {
		client := &c.Proxy.Clients[i]
		key := strictyaml.Index("proxy.clients", i)
		paths = append(paths, path{strictyaml.Join(key, "policy"), &client.Policy})
		for j := range client.Workspace {
			paths = append(paths, path{strictyaml.Index(strictyaml.Join(key, "workspace"), j), &client.Workspace[j]})
		}
	}
	for _, path := range paths {
		below, inHome := strings.CutPrefix(*path.at, "~/")
		switch {
		case *path.at == "", filepath.IsAbs(*path.at):
		case inHome:
			home, err := os.UserHomeDir()
			if err != nil {
				reader.Problem(path.key, "begins with ~/, and the user's home folder is not known (%s); write the whole path", err)
			}
			*path.at = filepath.Join(home, below)
		default:
			*path.at = filepath.Join(folder, *path.at)
		}
	}
}

// Warnings returns a sentence for each setting that has less effect than its reader may think.
func (c *Config) Warnings() []string {
	if c.NATS.URL == "" || !c.NATS.DirNamed {
		return nil
	}
	if c.Audit.Dir != "" {
		return []string{"nats.dir has no effect beside nats.url, which is where the state is: remove it"}
	}
	return []string{"nats.dir stores no state beside nats.url; only the default of audit.dir follows from it: set audit.dir: " + c.AuditDir() + " in its place"}
}
