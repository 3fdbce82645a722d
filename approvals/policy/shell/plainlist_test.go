package shell

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzPlainList holds the reader of plain commands against the parser: their syntax trees are equal.
func FuzzPlainList(f *testing.F) {
	for _, src := range []string{
		"npm run test", "x", "", " x", "x ", "a  b", "a\tb", "go test ./... -run=TestA -v", "git log --format=%h", "A=b c", "a=", "a+=b", "a b=c d+=e", "2 x", "x 2", "echo then",
		"-x", "+x", "@x", ":", ".", "..", "./run a,b:c@d", "café x", "x #y", "x&", "x;", "x|y", "x\n", "x\ny", "~ x", "x {a,b}", "x *", "[ x", "x ]", "! x", "{ x", "x }", "x\x00", `x\ y`, "x 'y'",
	} {
		f.Add(src)
	}
	for _, src := range []string{"a && b", "cd x && go test ./... && git diff", "a && ", " && a", "a && && b", "a &&b", "a&& b", "a && b c=d", "a && B=c", "a &&  b", "a  && b", "a & b", "a || b"} {
		f.Add(src)
	}
	for _, src := range []string{"sh -c ls && a", "sh -c =", "env A=b* x y", "env A=b x", "sudo -u a rm x", "xargs -n 1 cat *", "ls *.go", "ls a/*.go -*", "cat .*", "git -C x status && cd y", "nice timeout 5 ./x/y z", "find . -exec a", "X/y && /bin/Rm Z", "x =y", "echo *"} {
		f.Add(src)
	}
	for word := range strings.FieldsSeq("if then fi while do case esac in function select time coproc let declare export nameref @test always") {
		f.Add(word)
		f.Add("x && " + word)
		f.Add(word + " x")
		f.Add("x " + word)
	}
	f.Fuzz(func(t *testing.T, in string) {
		known := KnownPrograms()
		for _, src := range []string{in, spelled(in)} {
			got := parsePlain(src)
			if got == nil {
				continue
			}
			if want, err := known.parseSource(src); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: not the syntax tree of the parser: %v", src, err)
			}
			holdsLiteral(t, known.Parse(src).All)
		}
	})
}

// holdsLiteral compares the shown and suggested texts of literal commands with the same of their words, and removes that
// they are literal.
func holdsLiteral(t *testing.T, commands []*Command) {
	t.Helper()
	known := KnownPrograms()
	of := func(c *Command) []string {
		texts := []string{c.Display()}
		for n := range c.Words {
			texts = append(texts, c.Suggest(known, n+1, ""), c.Suggest(known, n+1, "."))
		}
		return texts
	}
	for _, c := range commands {
		got := of(c)
		c.source.literal = ""
		if want := of(c); !slices.Equal(got, want) {
			t.Fatalf("%q: shown and suggested as %q, by its words as %q", c.Words, got, want)
		}
	}
}

// spelled is a script that is mostly plain: each byte is a piece of it.
func spelled(in string) string {
	pieces := []string{"a", "x", "1", "if", "sh", "-c", "env", "git", "-C", "xargs", "cd", "then", "done", "time", "export", "function", "coproc", "let", "in", "=", "+", "@", "-", ".", "/", ":", ",", "_", "*", " ", " ", " ", " ", " && ", " && ", "&&"}
	var b strings.Builder
	for i := range min(len(in), 60) {
		b.WriteString(pieces[int(in[i])%len(pieces)])
	}
	return b.String()
}

func TestPlainList(t *testing.T) {
	for src, plain := range map[string]bool{
		"npm run test:unit": true, "ls *.go src/**": true, "npm test:*": true, "x": true, "cargo build --release --target=a/b": true, "a b && c && d e": true, "a && if": false, "a &&": false, " && a": false, "a || b": false, "echo if": true,
		"": false, " x": false, "x ": false, "a  b": false, "if x": false, "A=1 x": false, "x $y": false, "x 'y'": false, "x > y": false, "x\ny": false, "x é": false, "export A": false,
	} {
		if got := parsePlain(src) != nil; got != plain {
			t.Errorf("%q: plain is %t", src, got)
		}
	}
}
