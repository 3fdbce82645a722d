package heldcall_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits of a product package, and of the types in it. Complexity and the length of
// functions and files are in .golangci.yml.
const (
	maxLines   = 3000 // of a package, without tests
	maxMethods = 25   // of a type, with those of the types of its package that it embeds
	maxFields  = 15   // of a type, counted likewise; a struct whose fields are all exported is a record and may have more
	maxUpwards = 15   // percent of the references between files of a package
)

// sourcePackage is a product package, parsed and checked without its tests.
type sourcePackage struct {
	name  string // its path within the module
	files map[string]*ast.File
	lines int
	fset  *token.FileSet
	types *types.Package
	info  *types.Info
}

func TestShapeOfThePackages(t *testing.T) {
	for _, p := range sourcePackages(t) {
		t.Run(p.name, func(t *testing.T) {
			p.checkLimit(t, p.name, "lines", p.lines, maxLines)
			p.checkTypes(t)
			p.checkReferences(t)
			p.checkBrackets(t)
		})
	}
}

// checkLimit compares a value with its limit.
func (p *sourcePackage) checkLimit(t *testing.T, subject, what string, value, limit int) {
	t.Helper()
	if value > limit {
		t.Errorf("%s has %d %s, the limit is %d", subject, value, what, limit)
	}
}

func (p *sourcePackage) checkTypes(t *testing.T) {
	t.Helper()
	for _, name := range p.types.Scope().Names() {
		named, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || named.IsAlias() {
			continue
		}
		typ, ok := named.Type().(*types.Named)
		if !ok {
			continue
		}
		methods, fields, record := p.size(typ)
		p.checkLimit(t, p.name+"."+name, "methods", methods, maxMethods)
		if !record {
			p.checkLimit(t, p.name+"."+name, "fields", fields, maxFields)
		}
	}
}

// size counts the methods and fields of a type and of the types of its package that it
// embeds. Record reports whether all fields are exported.
func (p *sourcePackage) size(typ *types.Named) (methods, fields int, record bool) {
	methods = typ.NumMethods()
	if i, ok := typ.Underlying().(*types.Interface); ok {
		return i.NumMethods(), 0, true
	}
	s, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return methods, 0, true
	}
	record = true
	for f := range s.Fields() {
		embedded := named(f.Type())
		if f.Embedded() && embedded != nil && embedded.Obj().Pkg() == p.types {
			m, n, r := p.size(embedded)
			methods, fields, record = methods+m, fields+n, record && r
			continue
		}
		fields++
		record = record && f.Exported()
	}
	return methods, fields, record
}

// named is the named type of a value or of what it points to, nil where there is none.
func named(t types.Type) *types.Named {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	n, _ := t.(*types.Named)
	return n
}

// checkReferences bounds the references between files that point up, in the order of
// the files in which fewest do.
func (p *sourcePackage) checkReferences(t *testing.T) {
	t.Helper()
	references := p.references()
	total, upwards := 0, 0
	order := downwards(references)
	worst := map[string]int{}
	for from, to := range references {
		for file, n := range to {
			total += n
			if slices.Index(order, from) > slices.Index(order, file) {
				upwards += n
				worst[from+" > "+file] = n
			}
		}
	}
	if total == 0 {
		return
	}
	p.checkLimit(t, p.name, "percent of references upwards", 100*upwards/total, maxUpwards)
	if t.Failed() {
		pairs := slices.SortedFunc(maps.Keys(worst), func(a, b string) int { return cmp.Compare(worst[b], worst[a]) })
		for _, pair := range pairs[:min(len(pairs), 8)] {
			t.Logf("%3d %s", worst[pair], pair)
		}
	}
}

// references counts, by file, the package's objects of each other file that it uses.
func (p *sourcePackage) references() map[string]map[string]int {
	used := map[types.Object]map[string]bool{}
	for ident, object := range p.info.Uses {
		if object.Pkg() == p.types && object.Pos().IsValid() {
			if used[object] == nil {
				used[object] = map[string]bool{}
			}
			used[object][p.file(ident.Pos())] = true
		}
	}
	count := map[string]map[string]int{}
	for file := range p.files {
		count[file] = map[string]int{}
	}
	for object, files := range used {
		for from := range files {
			if to := p.file(object.Pos()); to != from {
				count[from][to]++
			}
		}
	}
	return count
}

func (p *sourcePackage) file(at token.Pos) string { return filepath.Base(p.fset.Position(at).Filename) }

// downwards orders files so that few references point back (Eades, Lin and Smyth, 1993):
// files that are only used go last, files that only use go first, of the others the
// one that uses most and is used least.
func downwards(references map[string]map[string]int) []string {
	left := slices.Sorted(maps.Keys(references))
	var first, last []string
	for len(left) > 0 {
		balance := func(file string) (uses, used int) {
			for _, other := range left {
				uses, used = uses+references[file][other], used+references[other][file]
			}
			return uses, used
		}
		best, rank, sink := 0, 0, false
		for i, file := range left {
			uses, used := balance(file)
			if uses == 0 {
				best, sink = i, true
				break
			}
			if value := uses - used; i == 0 || value > rank {
				best, rank = i, value
			}
		}
		if sink {
			last = append([]string{left[best]}, last...)
		} else {
			first = append(first, left[best])
		}
		left = slices.Delete(left, best, best+1)
	}
	return append(first, last...)
}

// checkBrackets refuses && beside || without brackets.
func (p *sourcePackage) checkBrackets(t *testing.T) {
	t.Helper()
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			or, ok := n.(*ast.BinaryExpr)
			if !ok || or.Op != token.LOR {
				return true
			}
			for _, side := range []ast.Expr{or.X, or.Y} {
				if and, ok := side.(*ast.BinaryExpr); ok && and.Op == token.LAND {
					t.Errorf("%s: put brackets around the operands of && beside ||", p.fset.Position(and.Pos()))
				}
			}
			return true
		})
	}
}

// sourcePackages parses and checks the product's packages. What they import is read
// from the Go tool's build cache.
func sourcePackages(t *testing.T) (list []*sourcePackage) {
	t.Helper()
	exports := map[string]string{}
	var product []compiled
	for _, c := range compile(t) {
		exports[c.ImportPath] = c.Export
		if isProduct(c) {
			product = append(product, c)
		}
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(fset, "gc", open)
	for _, c := range product {
		p := &sourcePackage{name: local(c.ImportPath), files: map[string]*ast.File{}, fset: fset}
		p.info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		for _, name := range c.GoFiles {
			text, err := os.ReadFile(filepath.Join(c.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			p.lines += bytes.Count(text, []byte("\n"))
			file, err := parser.ParseFile(fset, filepath.Join(c.Dir, name), text, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.files[name] = file
		}
		config := types.Config{Importer: imports}
		var err error
		if p.types, err = config.Check(c.ImportPath, fset, slices.Collect(maps.Values(p.files)), p.info); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// isProduct reports whether a package is of the product, and not a check, an example or
// help for tests.
func isProduct(c compiled) bool {
	name, ok := strings.CutPrefix(c.ImportPath, module+"/")
	floor := floorOf(name)
	return ok && floor >= 0 && floor < programs && !strings.HasSuffix(name, "test") && !strings.HasPrefix(name, "internal/testing/")
}

// compiled is a package as the Go tool has compiled it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func compile(t *testing.T) (list []compiled) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...").Output()
	if err != nil {
		t.Fatal(goListError(err))
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var c compiled
		switch err := decoder.Decode(&c); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		list = append(list, c)
	}
}

func goListError(err error) error {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("go list: %w\n%s", err, failed.Stderr)
	}
	return fmt.Errorf("go list: %w", err)
}
