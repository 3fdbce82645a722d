package shell

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

func TestScriptsListTheirCommands(t *testing.T) {
	f := func(src string, simple bool, all ...string) {
		t.Helper()
		s := KnownPrograms().Parse(src)
		var found []string
		for _, c := range s.All {
			found = append(found, c.Display())
		}
		if !slices.Equal(found, all) || (s.Compound == "") != simple {
			t.Errorf("%q: %q (%s), want %q", src, found, s.Compound, all)
		}
	}
	f("ls -la && git status | wc", true, "ls -la", "git status", "wc")
	f("sudo rm x", true, "sudo rm x", "rm x")
	f("timeout 5 nice ls", true, "timeout 5 nice ls", "nice ls", "ls")
	f("sh -c 'a; b'", true, "sh -c 'a; b'", "a", "b")
	f("find . -exec rm {} +", true, "find . -exec rm '{}' +", "rm …")
	f("echo $(cat x)", true, "echo …", "cat x")
	f("ls > f", true, "> f", "ls")
	f("ls >> f 2> $X", false, ">> f", "> …", "ls")
	f("ls >& f", false, "> f", "ls")
	f("ls > /dev/null 2>&1", true, "ls")
	f("X=1 ls", false, "ls")
	f("cat {a,b}", false, "cat a b", "cat '{a,b}'")
	f("rm $'\\x61'", false, "rm a")
	f("if", false)
}

func TestParseArgv(t *testing.T) {
	for _, tt := range []struct {
		argv     []string
		problem  bool
		commands int
	}{
		{[]string{"ls", "a b"}, false, 2}, // as it is, and with spaces between
		{[]string{"ls", "a"}, false, 1},
		{[]string{"bash", "-lc", "a; b"}, false, 2},
		{nil, true, 0},
		{[]string{"a\x00"}, true, 0},
		{[]string{"\xff"}, true, 0},
	} {
		if s := KnownPrograms().ParseArgv(tt.argv); (s.Problem != "") != tt.problem || len(s.Commands) != tt.commands {
			t.Errorf("%q: %q, %d commands", tt.argv, s.Problem, len(s.Commands))
		}
	}
}

func TestPatternsMatch(t *testing.T) {
	f := func(pattern, src string, want match.Result) {
		t.Helper()
		if got := NewPattern(pattern).Match(KnownPrograms().Parse(src)); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, src, got, want)
		}
	}
	f("rm *", "rm -rf x", match.Yes)
	f("rm *", "ls; /bin/rm x", match.Yes)
	f("rm *", "env A=1 rm x", match.Yes)
	f("rm *", "rmdir x", match.No)
	f("rm *", "RM x", match.Maybe)
	f("rm *", "$X y", match.Maybe)
	f("rm *", "frob -erm", match.Maybe)
	f("rm *", "echo rm", match.No)
	f("git push --force *", "git push origin --force", match.Yes)
	f("git push --force *", "git push -f origin", match.Maybe)
	f("git push --force *", "git push origin", match.No)
	f("rm *", "(", match.Maybe)
}

func TestAllowPatternsCover(t *testing.T) {
	f := func(pattern, src string, want bool) {
		t.Helper()
		p, err := NewAllowPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		s := KnownPrograms().Parse(src)
		if got := s.NotSimple == "" && len(s.Commands) == 1 && p.Covers(s.Commands[0], KnownPrograms(), Whole); got != want {
			t.Errorf("%q covers %q: %v, want %v", pattern, src, got, want)
		}
	}
	f("ls *", "ls -la src", true)
	f("ls *", "ls", true)
	f("cat *", "cat", true)
	f("git log *", "git log", true)
	f("git branch *", "git branch", true)
	f("npm *", "npm", false)
	f("git fetch *", "git fetch", false)
	f("sed *", "sed -n 1,80p f", true)
	f("sed *", "sed -n '1,80w x' f", false)
	f("sed *", "sed -i s/a/b/ f", false)
	f("sed *", "sed -n -e 1p f", false)
	f("awk *", "awk '{print $1}' f", true)
	f("awk *", "awk '{print > \"x\"}' f", false)
	f("awk *", "awk '{print $1}' /inet/tcp/0/localhost/1", false)
	f("echo *", "echo ---", true)
	f("echo *", "echo -x --y=z", true)
	f("find *", "find . -mtime -7 -size -10k", true)
	f("find *", "find . -7 -delete", false)
	f("go *", "go build --help", true)
	f("git *", "git --version", true)
	f("frob *", "frob --help", true)
	f("go *", "go run evil --help", false)
	f("git *", "git log --help", false)
	f("npm *", "npm run build --help", true)
	f("sort *", "sort -o f --help", false)
	f("grep *", `grep "a\.b\|c" f`, true)
	f("grep *", `grep "a\"b" f`, true)
	f("grep *", `grep "a\$b" f`, false)
	f("grep *", `grep "a$b" f`, false)
	f("grep *", "grep 'a$' f", true)
	f("grep *", "grep '$(x)' f", false)
	f("grep *", `grep a\(b f`, true)
	f("find *", `find . \( -name a -o -name b \)`, true)
	f("sh -c 'ls'", "sh -c 'ls'", true)
	f("ls", "ls", true)
	f("ls", "ls x", false)
	f("npm run test:*", "npm run test:unit", true)
	f("npm run test:*", "npm run test x", true)
	f("npm run test:*", "npm run tests", false)
	f("cat ./src/*", "cat ./src/a", true)
	f("cat ./src/*", "cat ./src/../x", false)
	f("find *", "find . -name x", true)
	f("find *", "find . -exec x ;", false)
	f("sudo *", "sudo ls", false)
	f("sudo reboot", "sudo reboot", true)
	f("* x", "/bin/ls x", false)
	f("git log -- *", "git log -- -x", true)
	for _, pattern := range []string{"a; b", "a > b", "$X", "", "a # b", "a | b"} {
		if _, err := NewAllowPattern(pattern); err == nil {
			t.Errorf("%q is read", pattern)
		}
	}
}

func TestCommandsOfPipesAreNotCovered(t *testing.T) {
	p, err := NewAllowPattern("sh")
	if err != nil {
		t.Fatal(err)
	}
	s := KnownPrograms().Parse("cat x | sh")
	if p.Covers(s.Commands[1], KnownPrograms(), Whole) {
		t.Error("what a shell reads from a pipe is covered")
	}
}

func TestPatternsAreFoundByKeys(t *testing.T) {
	for _, src := range []string{"rm x", "sudo rm x", "/bin/rm x", "X='rm y' frob", "frob -xrm"} {
		s := KnownPrograms().Parse(src)
		keys, all := s.AppendKeys(nil, src)
		if all && !slices.Contains(keys, NewPattern("rm *").Key) {
			t.Errorf("%q: %q has no key of the pattern", src, keys)
		}
	}
	if _, all := KnownPrograms().Parse("$X y").AppendKeys(nil, "$X y"); all {
		t.Error("a command that a shell chooses has all its keys")
	}
	p, err := NewAllowPattern("npm run test:*")
	if err != nil {
		t.Fatal(err)
	}
	if keys := KnownPrograms().Parse("npm run test:unit -x").All[0].AppendAllowKeys(nil); !slices.Contains(keys, p.Key()) {
		t.Errorf("%q has no %q", keys, p.Key())
	}
}
