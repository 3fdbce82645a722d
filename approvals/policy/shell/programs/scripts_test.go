package programs

import "testing"

func TestPrintScripts(t *testing.T) {
	f := func(kind, script string, want bool) {
		t.Helper()
		if got := isPrintScript(kind, script); got != want {
			t.Errorf("%s %q: %v, want %v", kind, script, got, want)
		}
	}
	for _, script := range []string{
		"1,80p", "5p", "$p", "1~2p", "/foo/,/bar/p", "/foo/I!d", "10q", "5q3", "s/a/b/", "s/a/b/gI", "s|a/b|c|2p", "1,5{p;d}", "s/[^ab]/x/", `s/a\/b/c/`, "/a/{s/x/y/;p}", "1p;5p\n7p", "y/abc/def/", "$=", "s/[]a]/x/", "3a import os", "1i # x\n5p", "/x/c e rm",
	} {
		f("sed", script, true)
	}
	for _, script := range []string{
		"", "e", "1e rm x", "w f", "1,5w f", "s/a/b/w f", "s/a/b/e", "s/a/b/gw f", "r /etc/passwd", "R f", "W f", "1i\\", "s/[/]e/x/", "s/[/w f", "s/a/b", "s/a/b/;e rm x", "p;w f", "p w f", "{p", "}", "b x", ":a", "F", "s,a,b,;s/x/y/we", `s/[\]/]/x/w f`,
		"s/a/b/\nw f", "1,80", "sxaxbxw f", "/[/]/w f", "\\,a,e", "1p # x", "v", "z", "s/a/b/m e", "y/a/b/w f", "s/a\\\nb/c/",
	} {
		f("sed", script, script == "")
	}
	for _, script := range []string{
		"{print $1}", "NR>5", "NR>=5 && NR<=9", "/foo/ {print $2, $NF}", `BEGIN{FS=":"} {print $1}`, "{s+=$1} END {print s}", "length($0) > 80", "{if ($1 >= 5) print}", "/a/ || /b/",
	} {
		f("awk", script, true)
	}
	for _, script := range []string{
		`{system("x")}`, `{print > "f"}`, `{print >> "f"}`, `{print | "sh"}`, `{"sh" | getline x}`, `{getline < "/etc/passwd"; print}`, "{print ENVIRON[\"X\"]}", `@load "x"`, `{f="sys" "tem"; @f("x")}`, `BEGIN{ARGV[1]="/etc/shadow";ARGC=2}`, `{print |& "x"}`, `END{print>"f"}`, "{print PROCINFO[1]}", `NR>1 {print > "f"}`, `{x||y|"sh"}`,
	} {
		f("awk", script, false)
	}
	f("jq", ".", false)
}
