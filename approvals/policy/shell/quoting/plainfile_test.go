package quoting

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzPlainFile holds the reader of plain commands against the parser: their trees are
// equal, down to the positions.
func FuzzPlainFile(f *testing.F) {
	for _, src := range []string{
		"npm run test", "x", "", " x", "x ", "a  b", "a\tb", "go test ./... -run=TestA -v", "git log --format=%h", "A=b c", "a=", "a+=b", "a b=c d+=e", "2 x", "x 2", "echo then",
		"-x", "+x", "@x", ":", ".", "..", "./run a,b:c@d", "café x", "x #y", "x&", "x;", "x|y", "x\n", "x\ny", "~ x", "x {a,b}", "x *", "[ x", "x ]", "! x", "{ x", "x }", "x\x00", `x\ y`, "x 'y'",
	} {
		f.Add(src)
	}
	for _, src := range []string{"a && b", "cd x && go test ./... && git diff", "a && ", " && a", "a && && b", "a &&b", "a&& b", "a && b c=d", "a && B=c", "a &&  b", "a  && b", "a & b", "a || b"} {
		f.Add(src)
	}
	for word := range languageWords {
		f.Add(word)
		f.Add("x && " + word)
		f.Add(word + " x")
		f.Add("x " + word)
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	f.Fuzz(func(t *testing.T, in string) {
		for _, src := range []string{in, spelled(in)} {
			got := PlainFile(src)
			words, want := PlainWords(src), wordsOf(got)
			if slices.ContainsFunc(want, expands) {
				want = nil
			}
			if !slices.Equal(words, want) {
				t.Fatalf("%q: its words are %q, those of the tree %q", src, words, want)
			}
			if got == nil {
				continue
			}
			tree, err := parser.Parse(strings.NewReader(src), "")
			if err != nil || !reflect.DeepEqual(got, tree) {
				t.Fatalf("%q: another tree than the parser's (%v)", src, err)
			}
		}
	})
}

// expands reports whether a word is not literal in all shells, each * aside.
func expands(word string) bool {
	for i, part := range strings.Split(word, "*") {
		if !Plain(part, i == 0) {
			return true
		}
	}
	return false
}

// wordsOf returns the words of a tree that is one plain command, else nil.
func wordsOf(file *syntax.File) (words []string) {
	if file == nil {
		return nil
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	for _, word := range call.Args {
		words = append(words, word.Lit())
	}
	return words
}

// spelled is a script that is mostly plain: each byte is a piece of it.
func spelled(in string) string {
	pieces := []string{"a", "x", "1", "if", "then", "done", "time", "export", "function", "coproc", "let", "in", "=", "+", "@", "-", ".", "/", ":", ",", "_", "*", " ", " ", " ", " ", " && ", " && ", "&&"}
	var b strings.Builder
	for i := range min(len(in), 60) {
		b.WriteString(pieces[int(in[i])%len(pieces)])
	}
	return b.String()
}

func TestPlainFile(t *testing.T) {
	for src, plain := range map[string]bool{
		"npm run test:unit": true, "ls *.go src/**": true, "npm test:*": true, "x": true, "cargo build --release --target=a/b": true, "a b && c && d e": true, "a && if": false, "a &&": false, " && a": false, "a || b": false, "echo if": true,
		"": false, " x": false, "x ": false, "a  b": false, "if x": false, "A=1 x": false, "x $y": false, "x 'y'": false, "x > y": false, "x\ny": false, "x é": false, "export A": false,
	} {
		if got := PlainFile(src) != nil; got != plain {
			t.Errorf("%q: plain is %t", src, got)
		}
	}
}
