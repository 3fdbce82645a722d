package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

//go:embed packages/heldcall.js
var npmShim []byte

//go:embed packages/README.md
var packageReadme []byte

// npmPackage is a package.json.
type npmPackage struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Homepage    string            `json:"homepage"`
	License     string            `json:"license"`
	Repository  map[string]string `json:"repository"`
	Bin         map[string]string `json:"bin,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// newNPM returns what all packages have.
func newNPM(name, version string) npmPackage {
	return npmPackage{
		Name: name, Version: strings.TrimPrefix(version, "v"), Description: summary, Homepage: homepage, License: license,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
	}
}

// npmProgram is the package that has the program of one platform. npm installs it only
// there.
func (p *program) npmProgram() (map[string][]byte, error) {
	pack := newNPM("@heldcall/"+p.npm, p.version)
	system, cpu, _ := strings.Cut(p.npm, "-")
	pack.OS, pack.CPU = []string{system}, []string{cpu}
	return pack.tarball("heldcall-"+p.npm, file{"package/bin/" + executable(p.platform), 0o755, p.content})
}

// npmChooser is the package that people install: a command that starts the program in
// the package of the platform. No script runs at its installation.
func npmChooser(version string, platforms []platform) (map[string][]byte, error) {
	pack := newNPM("heldcall", version)
	pack.Bin = map[string]string{"heldcall": "bin/heldcall.js"}
	pack.Engines = map[string]string{"node": ">=18"}
	pack.Optional = make(map[string]string)
	for _, p := range platforms {
		pack.Optional["@heldcall/"+p.npm] = pack.Version
	}
	return pack.tarball("heldcall", file{"package/bin/heldcall.js", 0o755, npmShim})
}

// tarball is the package with a file and what each package has, by the name that npm
// gives it.
func (n npmPackage) tarball(name string, content file) (map[string][]byte, error) {
	manifest, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	packed, err := tarball([]file{
		{"package/package.json", 0o644, append(manifest, '\n')},
		content,
		{"package/LICENSE", 0o644, license},
		{"package/README.md", 0o644, packageReadme},
	})
	return map[string][]byte{fmt.Sprintf("%s-%s.tgz", name, n.Version): packed}, err
}
