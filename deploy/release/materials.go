package main

import (
	"encoding/json"
	"fmt"
)

// bill is a software bill of materials as CycloneDX 1.6 writes it.
type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Ref     string `json:"bom-ref"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// materials is the bill of materials of a program: the modules in its build
// information, the version of Go, and the platform.
func (p *program) materials() (map[string][]byte, error) {
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Component:  module("application", p.info.Main.Path, p.version),
			Properties: []property{{"go:os", p.goos}, {"go:arch", p.goarch}},
		},
		Components: []component{module("library", "std", p.info.GoVersion)},
	}
	for _, dependency := range p.info.Deps {
		if dependency.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release contains published modules only", dependency.Path, dependency.Replace.Path)
		}
		b.Components = append(b.Components, module("library", dependency.Path, dependency.Version))
	}
	out, err := json.MarshalIndent(b, "", "  ")
	return map[string][]byte{p.released() + ".cdx.json": append(out, '\n')}, err
}

func module(kind, path, version string) component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	return component{Ref: purl, Type: kind, Name: path, Version: version, PURL: purl}
}
