package shell

import "testing"

func TestRedirectPatternsCover(t *testing.T) {
	f := func(pattern, redirect string, want bool) {
		t.Helper()
		p, err := NewAllowPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		s := KnownPrograms().Parse("ls " + redirect)
		if got := s.NotSimple == "" && len(s.Commands) == 2 && s.Commands[0].Redirect && p.Covers(s.Commands[0], KnownPrograms(), Whole); got != want {
			t.Errorf("%q covers %q: %v, want %v", pattern, redirect, got, want)
		}
	}
	f("> *", "> f", true)
	f("> *", ">> a/b", true)
	f("> *", "&> f", true)
	f("> *", "< f", false)
	f("< *", "< f", true)
	f("< *", "> f", false)
	f(">> *", "> f", false)
	f(">> f", ">> f", true)
	f("> 'a b'", ">'a b'", true)
	f("> *", "> /dev/tcp/localhost/1", false)
	f("> *", "> /dev//tcp/localhost/1", false)
	f("> /dev/*", "> /dev/sda", false)
	f("> *", "> /proc/1/x", false)
	f("< *", "< /dev/tcp/localhost/1", false)
	f("> *", "> -f", false)
	f("> *", `> ""`, false)
	f("> *", "> $X", false)
	f("> *", "> *", false)
	f("*", "> f", false)
	f("* f", "> f", false)
	for _, pattern := range []string{"> a > b", "ls > a", "2> a", "> $X", "> a b", "<<< a"} {
		if _, err := NewAllowPattern(pattern); err == nil {
			t.Errorf("%q is read", pattern)
		}
	}
}
