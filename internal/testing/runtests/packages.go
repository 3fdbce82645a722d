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
var raceLater = []string{"app", "approvals/store", "cmd/heldcall"}

// testPackage is a package with tests. Race reports whether it, its tests or what they
// import start goroutines, later whether it is one of raceLater.
type testPackage struct {
	name        string
	race, later bool
}

// listedPackage is what go list -test prints about a package: one of the module, one that is
// compiled again for a test ("NAME [NAME.test]"), or a test program ("NAME.test").
type listedPackage struct {
	ImportPath, Dir, ForTest string
	Deps                     []string
	GoFiles                  []string
	Module                   *struct{ Main bool }
}

// list returns the packages that have tests, in the order of their names.
func list(ctx context.Context, patterns []string) ([]testPackage, error) {
	all, err := goList(ctx, patterns)
	if err != nil {
		return nil, err
	}
	starts := map[string]bool{}
	for _, p := range all {
		if p.Module == nil || !p.Module.Main || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
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
			name:  name,
			race:  slices.ContainsFunc(p.Deps, func(dependency string) bool { return starts[dependency] }),
			later: slices.ContainsFunc(raceLater, func(later string) bool { return strings.HasSuffix(name, "/"+later) }),
		})
	}
	return packages, nil
}

func goList(ctx context.Context, patterns []string) (all []listedPackage, err error) {
	arguments := append([]string{"list", "-test", "-deps", "-json=ImportPath,Dir,ForTest,Deps,GoFiles,Module"}, patterns...)
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
