package match

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	f := func(pattern, text string, plain, prefix bool) {
		t.Helper()
		if got := NewTextGlob(pattern).Match(text); got != plain {
			t.Errorf("%q covers %q: %v, want %v", pattern, text, got, plain)
		}
		if got := NewPrefixGlob(pattern).Match(text); got != prefix {
			t.Errorf("%q covers %q with more after it: %v, want %v", pattern, text, got, prefix)
		}
	}
	f("ls", "ls", true, true)
	f("ls", "ls -l", false, true)
	f("ls", "lsof", false, false)
	f("a*c", "abc", true, true)
	f("a*c", "ab", false, false)
	f("a*a", "a", false, false)
	f("*b*", "abc", true, true)
	f("npm run test:*", "npm run test", true, true)
	f("npm run test:*", "npm run test:unit", true, true)
	f("npm run test:*", "npm run test -x", true, true)
	f("npm run test:*", "npm run tests", false, false)
	if !NewGlob("mcp__*").Meets(NewGlob("mcp__a*")) || NewGlob("a*").Meets(NewGlob("b*")) {
		t.Error("globs of names do not meet as they should")
	}
}

func TestPathGlobs(t *testing.T) {
	f := func(pattern, path string, covers bool, match Result) {
		t.Helper()
		g, err := NewPathGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		l, problem := Locate(path)
		if problem != "" {
			t.Fatal(problem)
		}
		if got := g.Covers(l); got != covers {
			t.Errorf("%q covers %q: %v, want %v", pattern, path, got, covers)
		}
		if got := g.Match(l); got != match {
			t.Errorf("%q matches %q: %v, want %v", pattern, path, got, match)
		}
	}
	f("./src/**", "src/a/b", true, Yes)
	f("./src/**", "src/../.env", false, No)
	f("src/*", "src/a/b", false, No)
	f("src/a", "SRC/A", false, Maybe)
	f("**/.env", "a/.env", true, Yes)
	f("**/.env", "/work/.env", false, Yes)
	f("secrets/**", "/work/secrets/x", false, Maybe)
	f("/work/a", "a", false, Maybe)
	f("~/.ssh/**", "$HOME/.ssh/id", true, Yes)
	f("../a", "a", false, Maybe)
	f("D:/repo/**", `D:\repo\src\a.go`, true, Yes)
	f(`D:\repo\**`, "d:/repo/a", true, Yes)
	f("D:/repo/**", `D:\repo\..\a`, false, No)
	f("src/**", `src\a`, false, No) // one reading; the other is src/a
}

func TestPathProblems(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", "a\x00": "invisible", " a": "space", `a\b`: "", `\\host\a`: "backslash", `~\a`: "backslash", "c:a": "drive", `c:\a`: "", `c:\ENV~1`: "short name", `a\b:c`: "stream", "c:/a:b": "stream", "a./b": "Windows",
		"http://a": "URL", "$X/a": "variable", "/proc/1": "/proc", "a/b": "", "/proc2": "",
	} {
		if _, problem := Locate(text); (want == "") != (problem == "") || !strings.Contains(problem, want) {
			t.Errorf("%q: %q, want %q", text, problem, want)
		}
	}
	for _, pattern := range []string{"a*/../b", "a/**b", "", `a\b`} {
		if g, err := NewPathGlob(pattern); err == nil {
			t.Errorf("%q is %+v", pattern, g)
		}
	}
}

func TestURLGlobs(t *testing.T) {
	f := func(pattern, url string, covers bool, match Result) {
		t.Helper()
		g, err := NewURLGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		a, problem := ParseURL(url)
		if problem != "" {
			t.Fatal(problem)
		}
		if got := g.Covers(a); got != covers {
			t.Errorf("%q covers %q: %v, want %v", pattern, url, got, covers)
		}
		if got := g.Match(a); got != match {
			t.Errorf("%q matches %q: %v, want %v", pattern, url, got, match)
		}
	}
	f("https://a.example", "https://a.example/x?y", true, Yes)
	f("https://a.example", "https://a.example:443/", true, Yes)
	f("https://a.example", "https://a.example:8443/", false, Yes)
	f("https://a.example", "http://a.example/", false, Maybe)
	f("https://*.example/x/**", "https://a.example/x/y", true, Yes)
	f("https://*.example/x/**", "https://a.b.example/x/y", false, No)
	f("https://a.example/x", "https://a.example/X", false, Maybe)
	f("domain:a.example", "https://a.example/x", true, Yes)
	f("domain:a.example", "http://a.example/", true, Yes)
	f("domain:a.example", "https://b.a.example/", false, No)
	f("domain:a.example", "https://a.example.evil.io/", false, No)
	f("domain:a.example", "https://a.example:8443/", false, Yes)
	f("domain:a.example", "ftp://a.example/", false, Maybe)
	f("domain:*.example", "https://a.example/", true, Yes)
	for text, want := range map[string]string{
		"https://u@a.example/": "hides the host", "a.example": "scheme", "https://127.1/": "number", "https://a.example/%2e%2e/": "escapes",
		"https://a.example/../x": "..", "https://a.example./": "dot", "https://[::ffff:1.2.3.4]/": "IPv4", "https:///x": "no host", "https://a.example/a b": "not valid",
	} {
		if _, problem := ParseURL(text); !strings.Contains(problem, want) {
			t.Errorf("%q: %q, want %q", text, problem, want)
		}
	}
	for _, pattern := range []string{"a.example", "https://", "https://a.example:x", "https://a**.example", "https://a.example/?q", "domain:", "domain:a.example/x", "domain:a.example:8443", "domain:a@b"} {
		if g, err := NewURLGlob(pattern); err == nil {
			t.Errorf("%q is %+v", pattern, g)
		}
	}
}

func TestFilterSelects(t *testing.T) {
	var list []*PathGlob
	for _, text := range []string{"**/.env", "**/*.pem", "**/.ssh/**"} {
		g, err := NewPathGlob(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	listed := func(l Location) bool {
		return slices.ContainsFunc(list, func(g *PathGlob) bool { return g.Match(l) == Yes })
	}
	for filter, want := range map[string]bool{
		"*.go": false, "*": false, "**/*.ts": false, ".env": true, "*.pem": true, ".e*": true, ".[e]nv": true, "{a,.env}": true, "!.env": false,
		"*.{go,pem}": true, ".ssh/*": true, "src/**": false, strings.Repeat("{a,b}", 9): true, strings.Repeat("x", 2000): true,
	} {
		if got := FilterSelects(filter, list, listed); got != want {
			t.Errorf("%q selects: %v, want %v", filter, got, want)
		}
	}
}

func TestPatchPaths(t *testing.T) {
	f := func(patch, problem string, want ...string) {
		t.Helper()
		paths, got := PatchPaths(patch)
		if !slices.Equal(paths, want) || (problem == "") != (got == "") || !strings.Contains(got, problem) {
			t.Errorf("%q: %q, %q; want %q, %q", patch, paths, got, want, problem)
		}
	}
	f("*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-y\n*** End Patch\n", "", "a", "b", "c")
	f("*** Begin Patch\n*** End Patch", "names no file")
	f("*** Add File: a", "begin and end", "a")
	f("*** Begin Patch\n  *** Add File: a\n*** End Patch", "only some programs", "a")
	f("*** Begin Patch\n*** Add File: a:b\n*** End Patch", "colon", "a:b")
	f("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "not valid", "a")
}

func TestArguments(t *testing.T) {
	f := func(text string, doubts, numbers int) {
		t.Helper()
		if d, n := Doubts(text); len(d) != doubts || len(n) != numbers {
			t.Errorf("%s: %q, %q", text, d, n)
		}
	}
	f(`{"a":1.50,"b":[{"c":"x"}]}`, 0, 0)
	f(" ", 0, 0)
	f(`{"a":1,"a":2}`, 1, 0)
	f(`{"a":1,"A":2}`, 1, 0)
	f(`{"a":1e3,"b":9007199254740993}`, 0, 2)
	f(`[]`, 1, 0)
	f(`{} {}`, 1, 0)
	f(strings.Repeat(`{"a":`, MaxDepth+1)+"1"+strings.Repeat("}", MaxDepth+1), 1, 0)

	members := Members(`{"Path":"x","path":"y","in":{"to":["a","b"]},"null":null}`)
	values := ValuesAt(members, []string{"path"})
	if len(values) != 2 || !values[0].Folded || values[1].Folded || values[1].Text != "y" {
		t.Errorf("%+v", values)
	}
	if inner := ValuesAt(members, []string{"in", "to"}); len(inner) != 1 {
		t.Errorf("%+v", inner)
	} else if texts, ok := inner[0].Elements(); !ok || !slices.Equal(texts, []string{"a", "b"}) {
		t.Errorf("%q, %v", texts, ok)
	}
	if null := ValuesAt(members, []string{"null"}); len(null) != 0 {
		t.Errorf("null counts: %+v", null)
	}
	if found, all := Strings(`{"a":["x",{"b c":"y"}]}`); !all || !slices.Equal(found, []string{"x", "b c", "y"}) {
		t.Errorf("%q, %v", found, all)
	}
	if got := Canonical(`{ "b":1.0, "a":"x" }`); got != `{"a":"x","b":1.0}` {
		t.Error(got)
	}
	if got := DecodeObject(`{"a":1,"b":1.5,"c":[true,null]}`); got["a"] != int64(1) || got["b"] != 1.5 || len(got["c"].([]any)) != 2 {
		t.Errorf("%v", got)
	}
}

func TestTexts(t *testing.T) {
	for text, want := range map[string]string{"": "", "/a/.env": "/a/.env", "/srv/app/.env": "…pp/.env", "é/\x1b/.env": `…/\x1b/.env`} {
		if got := Tail(text, 7); got != want {
			t.Errorf("the end of %q is %q, want %q", text, got, want)
		}
	}
	if got := Shorten("a\x1b\xffé", 2); got != `a\x1b… (3 more bytes)` {
		t.Errorf("%q", got)
	}
	if FoldCase("KELVIN\u212A") != FoldCase("kelvink") {
		t.Error("the Kelvin sign is not a k")
	}
	if Invisible("a\u200b") == "" || Invisible("a\n\tb") != "" {
		t.Error("characters that cannot be seen are not found as they should")
	}
}

func TestDecodeObject(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"":                          {},
		`{"a":1,"b":1.5}`:           {"a": int64(1), "b": 1.5},
		`{"a":[2,"x",null]}`:        {"a": []any{int64(2), "x", nil}},
		`{"a":{"b":-3,"c":[]}}`:     {"a": map[string]any{"b": int64(-3), "c": []any{}}},
		`{"a":9223372036854775808}`: {"a": 9223372036854775808.0},
		`{"a":true}`:                {"a": true},
		`{"a":1,"a":2}`:             {},
		`{"a":1e999}`:               {},
		`[1]`:                       {},
		`null`:                      {},
	} {
		if got := DecodeObject(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", text, got, want)
		}
	}
}

func TestPathsBelow(t *testing.T) {
	for _, tt := range []struct {
		glob, tree string
		want       bool
	}{
		{"src/a/**", "src", true},
		{"src/a/**", "src/a/b", true},
		{"src/a/**", "", true},
		{"src/a/**", "lib", false},
		{"**/x", "lib", true},
		{"../a", "..", true},
		{"../a", "../..", true},
		{"../../a", "..", false},
		{"/etc/x", "lib", true},
	} {
		g, err := NewPathGlob(tt.glob)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := Locate(tt.tree)
		if got := g.Below(l); got != tt.want {
			t.Errorf("%s below %q: %t", tt.glob, tt.tree, got)
		}
	}
}

func TestPathLists(t *testing.T) {
	var globs []*PathGlob
	for _, text := range []string{"**/.env", "/etc/shadow*", "**/.ssh/**"} {
		g, err := NewPathGlob(text)
		if err != nil {
			t.Fatal(err)
		}
		globs = append(globs, g)
	}
	for path, want := range map[string]bool{"a/.ENV": true, "/etc/shadow-": true, "etc/shadow": false, "../etc/shadow": true, "~/.ssh/a/b": true, "a/ssh/b": false, "": false} {
		if l, _ := Locate(path); Lists(globs, l) != want {
			t.Errorf("%q: %t, want %t", path, !want, want)
		}
	}
}

func TestJoinFolder(t *testing.T) {
	for _, tt := range [][3]string{
		{"", "a", "a"}, {"b/", "a", "b/a"}, {"b", "/a", "/a"}, {"b", "~/a", "~/a"}, {"b", "$HOME/a", "$HOME/a"}, {"b", "c:/a", "c:/a"}, {"b", "file:///a", "file:///a"},
	} {
		if got := JoinFolder(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q in %q: %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
}
