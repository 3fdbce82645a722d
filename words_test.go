//go:build check

package heldcall_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// privateWords are words that comments used in place of the plain ones: returns, reports,
// is in, notified, the noun itself, no one, continues, after, everybody who, again.
var privateWords = []string{"says", "stands", "told", "what is", "nobody", "goes? on", "behind", "whoever", "anew"}

// maxWordRate is the limit for each of them, per 1,000 lines of comments.
const maxWordRate = 1.0

func TestCommentsAreInPlainEnglish(t *testing.T) {
	lines, found := 0, map[string][]string{}
	for _, file := range sources(t, ".go") {
		for _, comment := range parseSource(t, file).comments {
			for i, line := range strings.Split(comment.text, "\n") {
				lines++
				for _, word := range privateWords {
					for range wordPattern(word).FindAllString(line, -1) {
						found[word] = append(found[word], file+":"+strconv.Itoa(comment.line+i))
					}
				}
			}
		}
	}
	for _, word := range privateWords {
		if rate := 1000 * float64(len(found[word])) / float64(lines); rate >= maxWordRate {
			t.Errorf("comments have %q %.1f times in 1,000 lines, the limit is %.0f: %v", word, rate, maxWordRate, found[word][:min(len(found[word]), 10)])
		}
	}
}

// Texts for users have none of these words at all.
func TestTextsForUsersAreInPlainEnglish(t *testing.T) {
	refused := regexp.MustCompile(`(?i)\b(?:stands|anew|whoever|of which|by which|what waits?|that waits?[.,;:]|ha(?:s|ve) it too|(?:is|are|was|were|be|being) (?:not |no longer |still )?asked about)(?:\b|\W|$)`)
	// These are plain: which of a list, and people as those who are asked.
	plain := regexp.MustCompile(`(?i)\b(?:(?:each|all|both|one|none) of which|(?:people|you|they|reviewers)(?: may| can)? (?:are|were|be) (?:not |no longer |still |always )?asked about)\b`)
	check := func(where, text string) {
		if word := refused.FindString(plain.ReplaceAllString(text, "")); word != "" {
			t.Errorf("%s has %q: %s", where, word, text)
		}
	}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") || strings.HasPrefix(file, "internal/testing/") {
			continue
		}
		for _, literal := range parseSource(t, file).texts {
			check(file+":"+strconv.Itoa(literal.line), literal.text)
		}
	}
	for _, extension := range []string{".md", ".html", ".js", ".yaml", ".yml"} {
		for _, file := range sources(t, extension) {
			if strings.Contains(file, "testdata/") || strings.HasPrefix(file, "internal/testing/") || strings.Contains(file, "node_modules/") {
				continue
			}
			lines := strings.Split(read(t, file), "\n")
			for i, line := range lines {
				if extension == ".md" && i+1 < len(lines) { // a phrase may be broken
					next := strings.Fields(lines[i+1])
					line += " " + strings.Join(next[:min(len(next), 2)], " ")
				}
				check(file+":"+strconv.Itoa(i+1), line)
			}
		}
	}
}

func wordPattern(word string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + word + `)\b`) }

// sources are the files of the repository with an extension.
func sources(t *testing.T, extension string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && ((path != "." && strings.HasPrefix(entry.Name(), ".")) || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !entry.IsDir() && filepath.Ext(path) == extension {
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

type textAt struct {
	line int
	text string
}

// parsedTexts are the comments of a Go file, and its string literals of more than a word.
type parsedTexts struct{ comments, texts []textAt }

func parseSource(t *testing.T, name string) (p parsedTexts) {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			p.comments = append(p.comments, textAt{fset.Position(comment.Pos()).Line, comment.Text})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
			p.texts = append(p.texts, textAt{fset.Position(literal.Pos()).Line, literal.Value})
		}
		return true
	})
	return p
}
