//go:build check

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
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxUpwards is the limit for references between files of a package that point up, in
// percent: more than that, and the package has no order in which it can be read. Complexity
// and the length of functions are in .golangci.yml.
const maxUpwards = 15

// functionsOfTypes are the free functions whose first parameter is a pointer to a type of
// their package that has methods, and which are no methods for a reason. At most ten.
var functionsOfTypes = map[string]string{}

// sourcePackage is a product package, parsed and checked without its tests.
type sourcePackage struct {
	name  string // its path within the module
	files map[string]*ast.File
	fset  *token.FileSet
	types *types.Package
	info  *types.Info
}

func TestShapeOfThePackages(t *testing.T) {
	list := sourcePackages(t)
	importers := importersOf(list)
	excused := map[string]bool{}
	for _, p := range list {
		t.Run(p.name, func(t *testing.T) {
			p.checkReason(t, importers[p.name])
			p.checkFunctions(t, excused)
			p.checkReferences(t)
			p.checkBrackets(t)
		})
	}
	if len(functionsOfTypes) > 10 {
		t.Errorf("functionsOfTypes has %d functions, the limit is 10", len(functionsOfTypes))
	}
	for name := range functionsOfTypes {
		if !excused[name] {
			t.Errorf("functionsOfTypes has %s, and there is no such function", name)
		}
	}
}

// importersOf are, by the name of a product package, the product packages that import it.
func importersOf(list []*sourcePackage) map[string][]string {
	importers := map[string][]string{}
	for _, p := range list {
		for _, imported := range p.types.Imports() {
			importers[local(imported.Path())] = append(importers[local(imported.Path())], p.name)
		}
	}
	return importers
}

// reasons are the forms in which the first sentence of a package's comment gives its
// reason where it is not that two packages use it: it is one of several of a kind, it hides
// something, or it is pure and its neighbours are not.
var reasons = regexp.MustCompile(`\b(dialect|channel|command|hides|only (user|package|use)\b|pure|without I/O|no I/O|needs no|knows no)`)

// checkReason fails for a package with one importer that gives no reason. A package at the top,
// such as proxy, is an area, which app alone puts together.
func (p *sourcePackage) checkReason(t *testing.T, importers []string) {
	t.Helper()
	if area := !strings.Contains(p.name, "/"); area || len(importers) != 1 {
		return
	}
	comment := ""
	for _, file := range p.files {
		if file.Doc != nil {
			comment += file.Doc.Text()
		}
	}
	sentence, _, _ := strings.Cut(strings.ReplaceAll(comment, "\n", " "), ". ")
	if !reasons.MatchString(sentence) {
		t.Errorf("only %s imports %s: join them, or give the package's reason in the first sentence of its comment, which is %q", importers[0], p.name, sentence)
	}
}

// checkFunctions fails for free functions that should be methods. Constructors, generic
// functions and comparisons of two values may take a pointer first.
func (p *sourcePackage) checkFunctions(t *testing.T, excused map[string]bool) {
	t.Helper()
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil || function.Type.TypeParams != nil || isConstructor(function.Name.Name) {
				continue
			}
			owner := p.owner(function)
			if owner == "" {
				continue
			}
			name := p.name + "." + function.Name.Name
			if _, ok := functionsOfTypes[name]; ok {
				excused[name] = true
				continue
			}
			t.Errorf("%s: %s takes a *%s first: make it a method", p.fset.Position(function.Pos()), function.Name.Name, owner)
		}
	}
}

func isConstructor(function string) bool {
	return strings.HasPrefix(function, "new") || strings.HasPrefix(function, "New")
}

// owner is the type of the package whose method a function could be, "" for none.
func (p *sourcePackage) owner(function *ast.FuncDecl) string {
	signature := p.info.Defs[function.Name].Type().(*types.Signature)
	var parameters []types.Type
	for v := range signature.Params().Variables() {
		if v.Type().String() != "context.Context" {
			parameters = append(parameters, v.Type())
		}
	}
	if len(parameters) == 0 || (len(parameters) == 2 && types.Identical(parameters[0], parameters[1])) {
		return ""
	}
	pointer, ok := parameters[0].(*types.Pointer)
	if !ok {
		return ""
	}
	typ, ok := pointer.Elem().(*types.Named)
	if !ok || typ.Obj().Pkg() != p.types || typ.NumMethods() == 0 {
		return ""
	}
	return typ.Obj().Name()
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
	if percent := 100 * upwards / total; percent > maxUpwards {
		t.Errorf("%d percent of the references between files point up, the limit is %d", percent, maxUpwards)
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
		p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		for _, name := range c.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(c.Dir, name), nil, parser.ParseComments)
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
