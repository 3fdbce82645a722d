//go:build check

package heldcall_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each text that docs/troubleshooting.md quotes is one of the program: every part of it between two … is in a
// string of the source, or in one after a text of the operating system. Each has a cause and a remedy.
func TestQuotedErrorsAreInTheSource(t *testing.T) {
	const page = "docs/troubleshooting.md"
	texts := programTexts(t)
	sections := strings.Split(read(t, page), "\n### ")[1:]
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		quoted := regexp.MustCompile("(?s)```text\n(.*?)\n```").FindStringSubmatch(section)
		if quoted == nil || !strings.Contains(section, "\n- **Cause**: ") || !strings.Contains(section, "\n- **Remedy**: ") {
			t.Errorf("%s: %s has no text, cause or remedy", page, title)
			continue
		}
		longest := 0
		for part := range strings.SplitSeq(strings.TrimPrefix(quoted[1], "heldcall: "), "…") {
			part = strings.TrimSpace(strings.TrimPrefix(part, ": bind: address already in use"))
			if longest = max(longest, len(part)); part != "" && !inTexts(texts, part) {
				t.Errorf("%s: %s quotes %q, which is in no text of the program", page, title, part)
			}
		}
		if longest < len("was already") {
			t.Errorf("%s: %s quotes too little", page, title)
		}
	}
	if len(sections) < 30 {
		t.Errorf("%s has %d sections", page, len(sections))
	}
}

func inTexts(texts []string, part string) bool {
	for _, text := range texts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// programTexts are the strings of the program, each with those that are added to it, and with … for the values that
// it is formatted with.
func programTexts(t *testing.T) (texts []string) {
	t.Helper()
	verbs := regexp.MustCompile(`%(\[\d+\])?[-+#.\d]*[a-z]`)
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/testing/") || strings.HasPrefix(file, "internal/demo/") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if expression, ok := n.(ast.Expr); ok {
				if text := textOf(expression); len(text) > 8 {
					texts = append(texts, verbs.ReplaceAllString(text, "…"))
				}
			}
			return true
		})
	}
	return texts
}

// textOf is the text of a string, or of strings that are added, with … for all else; "" without any.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err == nil {
				return text
			}
		}
	case *ast.BinaryExpr:
		left, right := textOf(e.X), textOf(e.Y)
		switch {
		case e.Op != token.ADD || left+right == "":
		case left == "":
			return "…" + right
		case right == "":
			return left + "…"
		default:
			return left + right
		}
	}
	return ""
}
