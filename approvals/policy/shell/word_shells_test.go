package shell

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzWords: the words of a script of plain words are those that bash and dash pass on.
func FuzzWords(f *testing.F) {
	var shells []string
	for _, name := range []string{"bash", "dash"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	if len(shells) == 0 {
		f.Skip("neither bash nor dash is installed")
	}
	for _, seed := range []string{
		`a 'b c' "d e"`, `"a\b\|c\.d" "a\"b" "a\\b"`, `a\(b \; \* \[ \{x\} \'\" \# \ x \-y \/z`, `{} a{}b '{}'`, `'a$' 'b$ c' '$1' 'x$/'`, `--- -n --x=y`, `'a'"b"c\ d`, `"a'b" 'a"b'`, `a=b %x ,y @z +w :v`,
		"\"$(cat <<'EOF'\nfix(a): b\n\n  c\n\nEOF\n)\"", "\"x$(cat <<'E'\nsay 'a' and 'b'\nE\n)y\"", `"a\nb\tc"`, `"\a\!"`, `"\#\-\ "`, `a~b x/~`, `"a$"`, `'!' "a!b"`, `a\` + "\n" + `b`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const echo = `printf '%s\0' `
		s := KnownPrograms().Parse(echo + text)
		if s.NotSimple != "" || len(s.All) != 1 || len(s.All[0].Words) < 3 {
			return
		}
		want := strings.Join(s.All[0].Words[2:], "\x00") + "\x00"
		if strings.ContainsAny(text, "*?~") || strings.Count(want, "\x00") != len(s.All[0].Words)-2 {
			return // expanded by a shell
		}
		if slices.ContainsFunc(shownVariables, func(name string) bool { return strings.Contains(text, "$"+name) || strings.Contains(text, "${"+name) }) {
			return // a value that printf only shows
		}
		for _, path := range shells {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			cmd := exec.CommandContext(ctx, path, "-c", echo+text)
			cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, t.TempDir()
			if !strings.Contains(text, "cat") {
				cmd.Env = []string{"PATH="}
			}
			var out bytes.Buffer
			cmd.Stdout = &out
			err := cmd.Run()
			cancel()
			if err != nil || out.String() != want {
				t.Errorf("%s reads %q as %q (%v), want %q", path, text, out.String(), err, want)
			}
		}
	})
}
