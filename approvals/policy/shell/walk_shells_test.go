package shell

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzExecutions: the words that bash, dash and zsh pass to the commands of a script are words of its commands.
func FuzzExecutions(f *testing.F) {
	var shells []string
	for _, name := range []string{"bash", "dash", "zsh"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	if len(shells) == 0 {
		f.Skip("none of bash, dash and zsh is installed")
	}
	for _, seed := range []string{
		"if true; then @ a; else @ b; fi", "if false\nthen\n@ a\nelif true; then @ b; fi", "while @ c; do @ a; break; done", "until ! true; do @ a; exit 1; done", "! @ a && @ b", "@ a & wait\n@ b",
		"for f in a b; do @ $f \"x/$f\" ${f}.go; done", "for f in a b; do for g in c d; do @ $f$g; done; done", "f=a.go; @ $f \"$f\"", "f=a g=b && @ $f-$g", "set -euo pipefail\n@ a", "export CI=1; @ a", "@ a || exit 1", "{ @ a; exit $?; }",
		"# look at it\n@ a\n # b\n@ c", "@ a \\\n  b \\\n c", "for f in a; do @ 'x' \"$f\" <<'E'\n$f\nE\ndone", "f=a; (for g in b; do @ $f $g; done)", "f=-n; @ $f '$f' \"\\$f\"", "for f in a; do if @ $f; then @ b$f; fi; done", "f=a; @ \"$(@ $f)\"",
		"f=a; for f in b; do @ $f; done; @ $f", "for f in a; do f=b; @ $f; done", "f=a\nf=b\n@ $f", "for n in {1..3}; do @ x; done", "f=a; { @ $f; } > x", "@ $f; f=a; @ $f", "@ {a,b}c {d,e}", "for f in a{b,c}; do @ {x,y{z,}} $f; done", "for f in \"a\" 'b'; do @ $f; done; @ $f",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script := strings.ReplaceAll(text, "@", `printf '%s\0'`)
		s := KnownPrograms().Parse(script)
		if s.NotSimple != "" || len(s.All) == 0 || strings.Contains(script, "while true") || strings.Contains(script, "until false") {
			return // it may not end
		}
		want := []string{""}
		for _, c := range s.All {
			switch {
			case len(c.Words) > 1 && c.Words[0] == "printf" && c.Words[1] == `%s\0`:
				want = append(want, c.Words[2:]...)
			case c.Idle, len(c.Words) == 1 && (c.Words[0] == "true" || c.Words[0] == "false"):
			default:
				return
			}
		}
		if strings.ContainsAny(strings.Join(want, ""), "*?~0\x00") {
			return // expanded by a shell, or 0 in place of a value
		}
		for _, path := range shells {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			cmd := exec.CommandContext(ctx, path, "-c", `ulimit -t 1; exec "$0" -c "$1"`, path, script) // also of what it leaves running
			cmd.Env, cmd.Dir = []string{"PATH="}, t.TempDir()
			var out bytes.Buffer
			cmd.Stdout, cmd.WaitDelay = &out, 100*time.Millisecond
			err := cmd.Run()
			cancel()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				return // it does not end, or leaves commands running
			}
			for word := range strings.SplitSeq(out.String(), "\x00") {
				if !slices.Contains(want, word) {
					t.Errorf("%s passes on %q in %q, which is none of %q", path, word, script, want)
				}
			}
		}
	})
}
