package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// goModules are the newest packages for Go, by module, with the folders that have the types.
var goModules = []struct {
	module  string
	folders []string
}{
	{"github.com/openai/openai-go/v3", []string{".", "responses", "shared"}},
	{"github.com/anthropics/anthropic-sdk-go", []string{"."}},
}

// goTypes are the types that have the names: unions, and structs whose fields are the names.
var goTypes = []struct{ dialect, kind, typ string }{
	{"responses", "item", "ResponseOutputItemUnion"},
	{"responses", "item", "BetaResponseOutputItemUnion"},
	{"responses", "event", "ResponseStreamEventUnion"},
	{"responses", "event", "BetaResponseStreamEventUnion"},
	{"responses", "event", "ResponsesServerEventUnion"},
	{"responses", "event", "BetaResponsesServerEventUnion"},
	{"responses", "block", "ResponseOutputMessageContentUnion"},
	{"responses", "block", "BetaResponseOutputMessageContentUnion"},
	{"responses", "block", "ResponseContentPartAddedEventPartUnion"},
	{"responses", "block", "BetaResponseContentPartAddedEventPartUnion"},
	{"responses", "input", "ResponseInputItemUnionParam"},
	{"responses", "input", "BetaResponseInputItemUnionParam"},
	{"responses", "tool", "ToolUnionParam"},
	{"responses", "tool", "BetaToolUnionParam"},
	{"responses", "field", "ResponseNewParams"},
	{"responses", "field", "BetaResponseNewParams"},
	{"chat", "call", "ChatCompletionMessageToolCallUnion"},
	{"chat", "member", "ChatCompletionMessage"},
	{"chat", "member", "ChatCompletionChunkChoiceDelta"},
	{"chat", "input", "ChatCompletionMessageParamUnion"},
	{"chat", "tool", "ChatCompletionToolUnionParam"},
	{"chat", "field", "ChatCompletionNewParams"},
	{"messages", "block", "ContentBlockUnion"},
	{"messages", "block", "BetaContentBlockUnion"},
	{"messages", "event", "MessageStreamEventUnion"},
	{"messages", "event", "BetaRawMessageStreamEventUnion"},
	{"messages", "delta", "RawContentBlockDeltaUnion"},
	{"messages", "delta", "BetaRawContentBlockDeltaUnion"},
	{"messages", "input", "ContentBlockParamUnion"},
	{"messages", "input", "BetaContentBlockParamUnion"},
	{"messages", "tool", "ToolUnionParam"},
	{"messages", "tool", "BetaToolUnionParam"},
	{"messages", "field", "MessageNewParams"},
	{"messages", "field", "BetaMessageNewParams"},
}

// goNames gets the newest modules, and lists their names: their source is read, and not built.
func goNames(dir string) ([]byte, error) {
	dir = filepath.Join(dir, "go")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module names\n"), 0o600); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, m := range goModules {
		info, err := output(dir, "go", "mod", "download", "-json", m.module+"@latest")
		if err != nil {
			return nil, err
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(info, &downloaded); err != nil {
			return nil, err
		}
		source := newGoSource()
		for _, folder := range m.folders {
			if err := source.read(filepath.Join(downloaded.Dir, folder)); err != nil {
				return nil, err
			}
		}
		for _, wanted := range goTypes {
			if (wanted.dialect == "messages") != (i == 1) {
				continue
			}
			names := source.names(wanted.kind, wanted.typ)
			if len(names) == 0 {
				return nil, fmt.Errorf("%s of %s is gone, or has no names: look where they are now, and change golang.go", wanted.typ, m.module)
			}
			for _, name := range names {
				fmt.Fprintf(&out, "{\"dialect\":%q,\"kind\":%q,\"name\":%q}\n", wanted.dialect, wanted.kind, name)
			}
		}
	}
	return out.Bytes(), nil
}

// goSource is the source of a module, as far as it shows the names.
type goSource struct {
	structs   map[string]*ast.StructType
	variants  map[string][]string // types that the methods As... of a union return
	constants map[string][]string // texts of the constants of a type
}

func newGoSource() *goSource {
	return &goSource{structs: map[string]*ast.StructType{}, variants: map[string][]string{}, constants: map[string][]string{}}
}

// read reads the files of a folder.
func (s *goSource) read(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err == nil && len(files) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", folder, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				s.method(d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s.spec(spec)
				}
			}
		}
	}
	return nil
}

// method takes the type that a method of a union returns for one of its variants.
func (s *goSource) method(d *ast.FuncDecl) {
	if d.Recv == nil || !strings.HasPrefix(d.Name.Name, "As") || d.Name.Name == "AsAny" || d.Type.Results == nil {
		return
	}
	union := typeName(d.Recv.List[0].Type)
	s.variants[union] = append(s.variants[union], typeName(d.Type.Results.List[0].Type))
}

// spec takes a struct, or the texts of constants.
func (s *goSource) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if structure, ok := spec.Type.(*ast.StructType); ok {
			s.structs[spec.Name.Name] = structure
		}
	case *ast.ValueSpec:
		for _, value := range spec.Values {
			if text, ok := value.(*ast.BasicLit); ok && text.Kind == token.STRING && spec.Type != nil {
				plain, _ := strconv.Unquote(text.Value)
				s.constants[typeName(spec.Type)] = append(s.constants[typeName(spec.Type)], plain)
			}
		}
	}
}

// names are those of a type: of its fields or, for a union, of its variants.
func (s *goSource) names(kind, typ string) (names []string) {
	structure := s.structs[typ]
	if structure == nil {
		return nil
	}
	if kind == "field" || kind == "member" {
		for _, field := range structure.Fields.List {
			if name, _ := tagOf(field); name != "" && name != "-" {
				names = append(names, name)
			}
		}
		return names
	}
	for _, variant := range s.members(typ, structure) {
		if found := s.typed(variant); found != nil {
			names = append(names, found...)
			continue
		}
		names = append(names, s.names(kind, variant)...)
	}
	return names
}

// members are the variants of a union: what its methods return or, in a request, its fields Of....
func (s *goSource) members(typ string, structure *ast.StructType) []string {
	list := slices.Clone(s.variants[typ])
	for _, field := range structure.Fields.List {
		if len(field.Names) == 1 && strings.HasPrefix(field.Names[0].Name, "Of") {
			list = append(list, typeName(field.Type))
		}
	}
	return list
}

// typed are the texts that the field type of a variant may have, or that of its role.
func (s *goSource) typed(variant string) []string {
	structure := s.structs[variant]
	if structure == nil || len(s.variants[variant]) > 0 {
		return nil
	}
	for _, wanted := range []string{"type", "role"} {
		for _, field := range structure.Fields.List {
			name, constant := tagOf(field)
			if name != wanted {
				continue
			}
			if constant != "" {
				return []string{constant}
			}
			if texts := s.constants[typeName(field.Type)]; texts != nil {
				return texts
			}
		}
	}
	return nil
}

// tagOf is the name of a field on the wire, and its only value if it has but one.
func tagOf(field *ast.Field) (name, constant string) {
	if field.Tag == nil {
		return "", ""
	}
	plain, _ := strconv.Unquote(field.Tag.Value)
	tag := reflect.StructTag(plain)
	name, _, _ = strings.Cut(tag.Get("json"), ",")
	return name, tag.Get("default")
}

// typeName is the name of a type without its package, pointer or list.
func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
