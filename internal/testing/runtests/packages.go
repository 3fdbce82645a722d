package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// raceLater are packages that make test runs without the race detector although goroutines
// are in them: with it they take minutes of CPU time. make race runs them with it.
var raceLater = []string{"app", "approvals/policy", "approvals/store", "cmd/heldcall"}

// idle are packages in which no goroutine runs although a package that they import starts some:
// they judge calls, and approvals/judge imports approvals/secrets, which they do not use.
var idle = []string{"internal/policylearn", "internal/testing/attention"}

// testPackage is a package with tests. Race reports whether it, its tests or what they
// import start goroutines, later whether it is one of raceLater. TestFiles are in dir.
type testPackage struct {
	name, dir   string
	testFiles   []string
	race, later bool
}

// listedPackage is what go list -test prints about a package: one of the module, one that is
// compiled again for a test ("NAME [NAME.test]"), or a test program ("NAME.test").
type listedPackage struct {
	ImportPath, Dir, ForTest  string
	Deps                      []string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string // of a package that is not compiled for a test
	Module                    *struct{ Main bool }
}

// list returns the packages that have tests, in the order of their names.
func list(ctx context.Context, patterns []string) ([]testPackage, error) {
	all, err := goList(ctx, patterns)
	if err != nil {
		return nil, err
	}
	starts, sources := map[string]bool{}, map[string]listedPackage{}
	for _, p := range all {
		if p.Module == nil || !p.Module.Main || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		sources[p.ImportPath] = p
		if starts[p.ImportPath], err = startsGoroutines(p); err != nil {
			return nil, err
		}
	}
	var packages []testPackage
	for _, p := range all {
		name, isTest := strings.CutSuffix(p.ImportPath, ".test")
		if !isTest {
			continue
		}
		packages = append(packages, testPackage{
			name: name, dir: sources[name].Dir,
			testFiles: slices.Concat(sources[name].TestGoFiles, sources[name].XTestGoFiles),
			race: !isOneOf(idle, name) && slices.ContainsFunc(p.Deps, func(dependency string) bool {
				return starts[dependency] && !isKit(dependency, name)
			}),
			later: isOneOf(raceLater, name),
		})
	}
	return packages, nil
}

func isOneOf(folders []string, name string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasSuffix(name, "/"+folder) })
}

// kits are what tests are written with.
const kits = "/internal/testing/"

// isKit reports whether a package is a test kit for another one. What a kit starts does not
// matter by itself: intercept/responses takes the scripted model's words, not its server.
func isKit(name, user string) bool {
	return strings.Contains(name, kits) && !strings.Contains(user, kits)
}

func goList(ctx context.Context, patterns []string) (all []listedPackage, err error) {
	arguments := append([]string{"list", "-test", "-deps", "-json=ImportPath,Dir,ForTest,Deps,GoFiles,TestGoFiles,XTestGoFiles,Module"}, patterns...)
	output, err := exec.CommandContext(ctx, "go", arguments...).Output()
	if err != nil {
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			return nil, fmt.Errorf("go list: %w\n%s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// startsGoroutines reports whether a file of the package has a go statement, or calls a
// method named Go, as those of sync.WaitGroup and errgroup.Group are.
func startsGoroutines(p listedPackage) (starts bool, err error) {
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.CallExpr:
				method, ok := node.Fun.(*ast.SelectorExpr)
				starts = starts || (ok && method.Sel.Name == "Go")
			}
			return !starts
		})
		if starts {
			return true, nil
		}
	}
	return false, nil
}
