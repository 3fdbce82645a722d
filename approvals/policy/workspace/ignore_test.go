package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIgnoreRules: the last line that fits decides; a slash binds a line to the folder of its file; a file deeper down
// counts after those above it. Outside of a repository nothing is left out.
func TestIgnoreRules(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := "# comment\n\n*.log\n!keep.log\nbuild/\n/only\ndocs/*.pdf\n**/deep/x\n"
	write("repository/.git/HEAD", "")
	write("repository/.gitignore", lines)
	write("repository/sub/.gitignore", "!a.log\nlocal\n")
	write("loose/.gitignore", lines)
	rules, loose := ignoreRulesAbove(filepath.Join(root, "repository", "sub")), ignoreRulesAbove(filepath.Join(root, "loose"))
	for _, tt := range []struct {
		path         string
		folder, want bool
	}{
		{"b.log", false, true},
		{"sub/b.log", false, true},
		{"sub/a.log", false, false},
		{"keep.log", false, false},
		{"build", true, true},
		{"build", false, false},
		{"sub/build", true, true},
		{"only", false, true},
		{"sub/only", false, false},
		{"docs/a.pdf", false, true},
		{"sub/docs/a.pdf", false, false},
		{"sub/deep/x", false, true},
		{"sub/local", false, true},
		{"local", false, false},
		{"comment", false, false},
	} {
		if got := rules.match(filepath.Join(root, "repository", filepath.FromSlash(tt.path)), tt.folder); got != tt.want {
			t.Errorf("%s, a folder %t: left out %t, want %t", tt.path, tt.folder, got, tt.want)
		}
	}
	if loose.inRepository || loose.match(filepath.Join(root, "loose", "b.log"), false) {
		t.Error("a file outside of a repository is left out")
	}
}
