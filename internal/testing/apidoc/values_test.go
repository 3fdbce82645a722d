package apidoc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A type of texts has as values the constants that its package declares, in their
// order: one that is added there is missed here.
func TestValuesAreTheConstants(t *testing.T) {
	for of, got := range values() {
		folder := filepath.Join("..", "..", "..", strings.TrimPrefix(of.PkgPath(), "github.com/heldcall/heldcall/"))
		if diff := cmp.Diff(constants(t, folder, of.Name()), got); diff != "" {
			t.Errorf("%s.%s (-declared +here):\n%s", path.Base(of.PkgPath()), of.Name(), diff)
		}
	}
}

// constants are those of a type that the files of a folder declare.
func constants(t *testing.T, folder, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typ {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, value)
			}
			return true
		})
	}
	return found
}
