package shell

import (
	"testing"
)

func TestStraightened(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"if a; then b; fi", "{ a;  b; }"},
		{"if a\nthen\n b\nelif c; then d; else e; fi | f", "{ a\n\n b\n c;  d;  e; } | f"},
		{"while a; do b; done", "{ a;  b; }"},
		{"until a; do b; done > x", "{ a;  b; } > x"},
		{"! a && b", "  a && b"},
		{"a & b", "a ; b"},
		{"set -euo pipefail\na", "a"},
		{"set -e; export CI=1; a; exit 0", "a; "},
		{"a || exit 1", "a "},
		{"a || { b; exit $?; }", "a || { b;  }"},
		{"for f in a b; do c $f \"x/$f\" ${f}.go; done", "{\n c a \"x/a\" a.go; \n c b \"x/b\" b.go; \n}"},
		{"for f in a b; do c; done", "{\n c; \n}"},
		{"for f in *.go x/*; do c \"$f\"; echo \"== $f\"; done", "{\n c *.go; echo \"== 0\"; \n c x/*; echo \"== 0\"; \n}"},
		{"for f in $(a -l); do c \"$f\"; done", "{\na -l\n c $(a -l); \n}"},
		{"for i in {1..3}; do echo $i; a; done", "{\n echo 0; a; \n}"},
		{"f=a.go; b $f \"$f\"", "b a.go \"a.go\""},
		{"f=a.go && b $f", "b a.go"},
		{"echo \"$? $PWD\"", "echo \"0 0\""},
		{"diff <(a) <(b) | c", "{ a\nb\ndiff - -\n} | c"},
		{"# look at it\na\n  # and b\nb", "            \na\n         \nb"},
		{"for f in a; do cat > $f <<'E'\n$f\nE\ndone", "{\n cat > a <<'E'\n$f\nE\n\n}"},
		{"a src/{b,c} {d,e}f -g", "{ a src/b src/c df ef -g\na src/\\{b,c\\} \\{d,e\\}f -g\n}"},
		{"a --b=*.{c,d} > e", "{ a --b=*.c --b=*.d\na --b=*.\\{c,d\\}\n} > e"},
		{"for f in x; do a $f {b,c}; done", "{\n { a x b c\na x \\{b,c\\}\n}; \n}"},
		// left as it is, so that people are asked
		{"a {1..3}", ""},
		{"a x{b,c{1..3}}", ""},
		{"a {b,~} {#,c}", ""},
		{"a {b,c}\"d\" {e,$f}", ""},
		{"cd {a,b}", ""},
		{"{a,b} c", ""},
		{"a; b", ""},
		{"path=x; a $path", "path=x; a $path"},
		{"for PATH in /evil; do a; done", ""},
		{"for f in a `b`; do c; done", ""},
		{"for f in a; do read f; c $f; done", ""},
		{"for f in a; do 'read' f; c $f; done", ""},
		{"for f in a; do command read f; c $f; done", ""},
		{"for f in a; do printf -v f x; c $f; done", ""},
		{"f=a; eval 'f=b'; c $f", ""},
		{"f=a; f=b; c $f", "f=b; c a"}, // a variable is set: not simple
		{"a && f=b; c $f", ""},
		{"f=a; for f in x y; do b; done; c $f", ""},
		{"for f in x y; do for f in z; do b; done; c $f; done", ""},
		{"(f=b); c $f", ""},
		{"f=$(a); c $f", ""},
		{"f='a b'; c $f", ""},
		{"f='*'; c $f", ""},
		{"for f in *; do c $f; done", "{\n c $f; \n}"},
		{"for f in a; do $f x; done", "{\n $f x; \n}"},
		{"cat <<'E' | for f in a; do b\nx\nE\ndone", ""},
		{"export PATH=/evil; a", ""},
		{"set -a; a", ""},
		{"set -- x; a", ""},
		{"# don't\na", ""},
		{"a # b", ""},
		{"#x\\\nrm y", ""},
		{"case a in b) c;; esac", ""},
		{"for ((;;)); do a; done", ""},
		{"select f in a; do b; done", ""},
		{"echo $SECRET", ""},
		{"echo ${f:-$(b)}", ""},
		{"bash <(a)", ""},
		{"f() { a; }; f", ""},
		{"for f in a b; do (cd $f && c); done", "{\n (cd a && c); \n (cd b && c); \n}"},
		{"for f in a b; do c; cd $f; done", ""},
		{"while a; do b; command cd c; done", ""},
		{"until a | cd b; do c; done", ""},
		// the variable of zsh is another one, or a part of it
		{"f=a; b \"$f[2,-1]\"", ""},
		{"f=a; b $f:h", ""},
		{"f=a; b \"$f:s/x/y/\"", ""},
		{"f=a; b \"$f\u00e9\"", ""},
		{"f=a; b \"${f}[1]\" ${f}:h \"$f: x\" $f:1", "b \"a[1]\" a:h \"a: x\" a:1"},
		{"f=1; b $f>c", ""}, // the number of a redirection
		{"f=a; b $f>c", "b a>c"},
	} {
		got, ok := KnownPrograms().straightened(tt.script)
		if ok != (tt.want != "" && tt.want != tt.script) || (ok && got != tt.want) {
			t.Errorf("straightened(%q) = %q, %v, want %q", tt.script, got, ok, tt.want)
		}
	}
}

func TestJoinLines(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"a \\\n  b", "a     b"},
		{"a \\\n| b \\\n| c", "a   | b   | c"},
		{"a 'b \\\nc'", ""},
		{"a \"b \\\nc\"", ""},
		{"a $\\\n(b)", ""},
		{"a\\\nb", ""},
		{"a # b \\\nc", ""},
		{"a <<E\nb \\\nc\nE", ""},
		{"a <<'E'\nb \\\nc\nE", ""},
		{"a $(b \\\nc)", ""},
		{"a \\\nb \\\n\\\nc", ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.script
		}
		if got := KnownPrograms().joinLines(tt.script); got != want {
			t.Errorf("joinLines(%q) = %q, want %q", tt.script, got, want)
		}
	}
}
