package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// part is one of several parts of the tests of some packages.
type part struct{ number, of int }

func parsePart(text string) (part, error) {
	var p part
	if _, err := fmt.Sscanf(text, "%d/%d", &p.number, &p.of); err != nil || p.number < 1 || p.number > p.of {
		return p, fmt.Errorf("-part %s: want K/N with K from 1 to N, such as 1/2", text)
	}
	return p, nil
}

// flags are those with which go test runs the part of the tests of the packages: none for all
// tests. Tests of different packages with the same name are in the same part.
func (p part) flags(packages []testPackage) ([]string, error) {
	if p.of == 1 {
		return nil, nil
	}
	names, err := testNames(packages)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for i := p.number - 1; i < len(names); i += p.of {
		chosen = append(chosen, names[i])
	}
	return []string{"-run", "^(" + strings.Join(chosen, "|") + ")$"}, nil
}

// testNames returns the names of the tests, examples and fuzz targets of packages, sorted,
// each once. They are read from the sources: go test -list would link the programs again.
func testNames(packages []testPackage) (names []string, err error) {
	for _, p := range packages {
		for _, file := range p.testFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("read the names of tests: %w", err)
			}
			for _, declaration := range parsed.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && isTest(function) {
					names = append(names, function.Name.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func isTest(function *ast.FuncDecl) bool {
	name := function.Name.Name
	return function.Recv == nil && name != "TestMain" &&
		(strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example"))
}
