package shell

import (
	"strings"
	"testing"
)

// TestWhole: the commands of a script of more than a list, or why they are not all that it runs. Those in brackets only
// change the shell.
func TestWhole(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"if a; then b; fi", "a | b | "},
		{"if a\nthen\n b\nelif c; then d; else e; fi | f", "a | b | c | d | e | f | "},
		{"while a; do b; done", "a | b | "},
		{"until a; do b; done > x", "> x | a | b | "},
		{"! a && b", "a | b | "},
		{"a & b", "a | b | "},
		{"set -euo pipefail\na", "(set -euo pipefail) | a | "},
		{"set -e; export CI=1; a; exit 0", "(set -e) | a | (exit 0) | "},
		{"a || exit 1", "a | (exit 1) | "},
		{"a || { b; exit $?; }", "a | b | (exit …) | "},
		{"for f in a b; do c $f \"x/$f\" ${f}.go; done", "c a x/a a.go | c b x/b b.go | "},
		{"for f in a b; do c; done", "c | "},
		{"for f in *.go x/*; do c \"$f\"; echo \"== $f\"; done", "c … | echo '== …' | The script is more than simple commands."},
		{"for f in $(a -l); do c \"$f\"; done", "a -l | c … | The script is more than simple commands."},
		{"for i in {1..3}; do echo $i; a; done", "echo … | a | "},
		{"f=a.go; b $f \"$f\"", "b a.go a.go | "},
		{"f=a.go && b $f", "b a.go | "},
		{"echo \"$? $PWD\"", "echo '… …' | "},
		{"diff <(a) <(b) | c", "diff … … | a | b | c | "},
		{"# look at it\na\n  # and b\nb", "a | b | "},
		{"for f in a; do cat > $f <<'E'\n$f\nE\ndone", "> a | cat | "},
		{"a src/{b,c} {d,e}f -g", "a src/b src/c df ef -g | a 'src/{b,c}' '{d,e}f' -g | "},
		{"a --b=*.{c,d} > e", "> e | a '--b=*.c' '--b=*.d' | a '--b=*.{c,d}' | "},
		{"for f in x; do a $f {b,c}; done", "a x b c | a x '{b,c}' | "},
		{"a {1..3}", "a 1 2 3 | The script has a word that a shell may expand."},
		{"a x{b,c{1..3}}", "a xb xc1 xc2 xc3 | The script has a word that a shell may expand."},
		{"a {b,~} {#,c}", "a b ~ '#' c | The script has a word that a shell may expand."},
		{"a {b,c}\"d\" {e,$f}", "a bd cd e … | The script has a word that a shell may expand."},
		{"cd {a,b}", "cd a b | The script has a word that a shell may expand."},
		{"{a,b} c", "a b c | The script has a word that a shell may expand."},
		{"a; b", "a | b | "},
		{"path=x; a $path", "a … | The script sets a variable."},
		{"for PATH in /evil; do a; done", "a | The script is more than simple commands."},
		{"for f in a `b`; do c; done", "b | c | The script is more than simple commands."},
		{"for f in a; do read f; c $f; done", "read f | c … | The script is more than simple commands."},
		{"for f in a; do 'read' f; c $f; done", "read f | c … | The script is more than simple commands."},
		{"for f in a; do command read f; c $f; done", "command read f | c … | The script is more than simple commands."},
		{"for f in a; do printf -v f x; c $f; done", "printf -v f x | c … | The script is more than simple commands."},
		{"f=a; eval 'f=b'; c $f", "eval f=b | c … | The script sets a variable."},
		{"f=a; f=b; c $f", "c … | The script sets a variable."},
		{"a && f=b; c $f", "a | c … | The script sets a variable."},
		{"f=a; for f in x y; do b; done; c $f", "b | c … | The script sets a variable."},
		{"for f in x y; do for f in z; do b; done; c $f; done", "b | c … | The script is more than simple commands."},
		{"(f=b); c $f", "c … | The script sets a variable."},
		{"f=$(a); c $f", "a | c … | The script sets a variable."},
		{"f='a b'; c $f", "c … | The script sets a variable."},
		{"f='*'; c $f", "c … | The script sets a variable."},
		{"for f in *; do c $f; done", "c … | The script is more than simple commands."},
		{"for f in a; do $f x; done", "… x | The script is more than simple commands."},
		{"cat <<'E' | for f in a; do b\nx\nE\ndone", "cat | b | "},
		{"export PATH=/evil; a", "a | The script is more than simple commands."},
		{"set -a; a", "set -a | a | "},
		{"set -- x; a", "set -- x | a | "},
		{"# don't\na", "a | The script has a comment."},
		{"a # b", "a | The script has a comment."},
		{"#x\\\nrm y", "rm y | The command has a line continued with a backslash, which shells read differently."},
		{"case a in b) c;; esac", "c | The script is more than simple commands."},
		{"for ((;;)); do a; done", "a | The script is more than simple commands."},
		{"select f in a; do b; done", "b | The script is more than simple commands."},
		{"echo $SECRET", "echo … | The script has a word that a shell expands."},
		{"echo ${f:-$(b)}", "echo … | b | The script has a word that a shell expands."},
		{"bash <(a)", "bash … | a | The script has a word that a shell expands."},
		{"f() { a; }; f", "a | f | The script is more than simple commands."},
		{"for f in a b; do (cd $f && c); done", "cd a | c | cd b | c | "},
		{"for f in a b; do c; cd $f; done", "c | cd … | The script is more than simple commands."},
		{"while a; do b; command cd c; done", "a | b | command cd c | The script is more than simple commands."},
		{"until a | cd b; do c; done", "a | cd b | c | The script is more than simple commands."},
		{"f=a; b \"$f[2,-1]\"", "b '…[2,-1]' | The script sets a variable."},
		{"f=a; b $f:h", "b …:h | The script sets a variable."},
		{"f=a; b \"$f:s/x/y/\"", "b …:s/x/y/ | The script sets a variable."},
		{"f=a; b \"$fé\"", "b …é | The script sets a variable."},
		{"f=a; b \"${f}[1]\" ${f}:h \"$f: x\" $f:1", "b 'a[1]' a:h 'a: x' a:1 | "},
		{"f=1; b $f>c", "> c | b … | The script sets a variable."},
		{"f=a; b $f>c", "> c | b a | "},
	} {
		s := KnownPrograms().Parse(tt.script)
		var texts []string
		for _, c := range s.Commands {
			text := c.Display()
			if c.Idle {
				text = "(" + text + ")"
			}
			texts = append(texts, text)
		}
		if got := strings.Join(append(texts, s.NotSimple), " | "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.script, got, tt.want)
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
		if got := joinedLines(tt.script); got != want {
			t.Errorf("joinLines(%q) = %q, want %q", tt.script, got, want)
		}
	}
}

func joinedLines(script string) string {
	file, err := KnownPrograms().parseSource(script)
	if err != nil {
		return script
	}
	return joinLines(file, script)
}
