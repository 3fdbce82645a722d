package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandsThatProgramsRun are the readings of wrappers, shells and find: the commands
// that they run, and whether they may run others.
func TestCommandsThatProgramsRun(t *testing.T) {
	f := func(src string, more bool, inner ...string) {
		t.Helper()
		c := KnownPrograms().Parse(src).Commands[0]
		var found []string
		for _, one := range c.appendAll(nil)[1:] {
			found = append(found, one.Display())
		}
		if !slices.Equal(found, inner) || c.mayRunAnything() != more {
			t.Errorf("%q runs %q, may run others %t; want %q, %t", src, found, c.mayRunAnything(), inner, more)
		}
	}
	f("sudo -u root rm x", false, "rm x")
	f("sudo --user=root rm x", false, "rm x")
	f("sudo --user root rm x", false, "rm x")
	f("sudo --frob rm x", true)
	f("sudo -u", true)
	f("env A=1 -i rm x", true)
	f("env -i A=1 rm x", false, "rm x")
	f("env -- rm x", false, "rm x")
	f("nice -5 rm x", false, "rm x")
	f("timeout -k 5 9 rm x", false, "rm x")
	f("timeout", true)
	f("xargs -n1 rm", false, "rm …")
	f("xargs -I{} rm x", false, "rm x")
	f("xargs -I % rm %/x", false, "rm …/x")
	f("xargs", false)
	f("flock f -c 'rm x'", false, "rm x")
	f("flock f rm x", false, "rm x")
	f("eval rm x", false, "rm x")
	f("eval $X", true)
	f("su -c 'rm x' root", true, "rm x")
	f("su --command='rm x'", true, "rm x")
	f("sh -c 'rm x' a", false, "rm x")
	f("bash --rcfile f -o pipefail -c 'rm x'", false, "rm x")
	f("bash --norc -- -c", true)
	f("bash f", true)
	f("bash $X", true)
	f(`find . -exec rm {} \; -ok ls \;`, false, "rm …", "ls")
	f("find . -exec ;", true)
	f("python -c 'rm x'", true)
	f("$X rm", true)
}

func TestSearches(t *testing.T) {
	for src, want := range map[string]struct {
		searches bool
		pattern  int
	}{
		"rg x":            {true, 1},
		"/bin/rg -n x":    {true, 2},
		"rg -e x":         {true, 0},
		"grep .env":       {false, 0},
		"grep a/b":        {false, 0},
		"grep x":          {false, 1},
		"grep -rn x .":    {true, 2},
		"cp -a x y":       {true, 0},
		"cp x y":          {false, 0},
		"diff -u x y":     {false, 0},
		"tar cf x y":      {true, 0},
		"scp --recursive": {true, 0},
		"rg -":            {true, 0},
	} {
		c := KnownPrograms().Parse(src).Commands[0]
		if got, at := KnownPrograms().Searches(c), KnownPrograms().SearchPattern(c); got != want.searches || at != want.pattern {
			t.Errorf("%q: searches %t, pattern %d; want %+v", src, got, at, want)
		}
	}
}

func TestShowsEnvironment(t *testing.T) {
	for src, want := range map[string]bool{
		"jq env": true, "jq -n $ENV.X": false, "jq -n '$ENV.X'": true, "jq .env": false, "ps e": true, "ps -o e": false, "ps -e": false,
		"npm run env": true, "npm run lint": false, "ls env": false,
	} {
		c := KnownPrograms().Parse(src).Commands[0]
		if got := c.ShowsEnvironment(len(c.Words) - 1); got != want {
			t.Errorf("%q: %t", src, got)
		}
	}
}

func TestScriptsAreShown(t *testing.T) {
	for src, want := range map[string]string{
		"A=1 ls > f 2>&1":     "A=1 ls > f 2>&1",
		"X=$(rm y)":           "X=$(rm y)\nrm y",
		"{ ls; } > f":         "{ … } > f\nls",
		"sudo sh -c 'X=1; a'": "sudo sh -c 'X=1; a'\nsh -c 'X=1; a'\na\nX=1",
		"cat <<E\nx\nE":       "cat << E\nx\nE",
		"export A=1":          "export A=1",
		"> f":                 "> f",
		"{ ls; } 2>/dev/null": "ls",
	} {
		if got := strings.Join(KnownPrograms().Parse(src).AppendShown(nil), "\n"); got != want {
			t.Errorf("%q is shown as %q, want %q", src, got, want)
		}
	}
}

// TestInDoubt are the parts of scripts that a pattern may match.
func TestInDoubt(t *testing.T) {
	for src, want := range map[string]string{
		"(":                   "cannot be parsed",
		"$X y":                "`$X` is unknown before it runs",
		"rm --recursive":      "may be another way to write it",
		"frob -x 'rm -r y'":   "names it and may run it",
		"bash":                "runs a text that is not known before it runs",
		"X='rm -r y'; eval z": "",
		"sh <<< 'rm -r'":      "",
		"RM -r x":             "may be another way to write it",
	} {
		g, s := NewPattern("rm -r *"), KnownPrograms().Parse(src)
		if got := g.InDoubt(s); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func TestCompound(t *testing.T) {
	for src, want := range map[string]string{
		"":                                   "no command",
		"ls # x":                             "a comment",
		"ls &":                               "leaves it running",
		"! ls":                               "negates",
		"ls >&f":                             "redirects",
		"ls 3> /dev/null":                    "redirects",
		"time":                               "more than simple commands",
		"for i in a; do ls; done":            "more than simple commands",
		"PATH=x ls":                          "sets a variable",
		"ls $X":                              "a shell expands",
		"sort *.go":                          "further up",
		"ls src/*.go":                        "",
		"ls .*":                              "further up",
		`ls "a!b"`:                           "in double quotes",
		"ls 'a$b'":                           "quotes a $",
		"(ls; { ls; }) | ls 2>&1 >/dev/null": "",
		"CI=1 ls":                            "",
		"ls a~b ~/c":                         "",
		"ls =b":                              "a shell may expand",
	} {
		if got := KnownPrograms().Parse(src).Compound; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}
