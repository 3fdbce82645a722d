package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestReadText: the text of a file of the workspace is read. A file that is outside, hidden, reached by a link, binary or too long is not.
func TestReadText(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	for name, text := range map[string]string{
		"work/a.go": "package a\n", "work/.env": "A=1", "work/.git/config": "x", "work/sub/b.go": "b", "outside/c.go": "c",
		"work/binary": "a\x00b", "work/latin": "\xff", "work/long": strings.Repeat("a", workspace.MaxText+1), "work/empty": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"work/link.go": "../outside/c.go", "work/inner.go": "a.go", "work/env": ".env", "work/folder": "../outside", "work/own": "sub", "alias": "work", "work/broken": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := workspace.NewFolder(work, "")
	if err != nil {
		t.Fatal(err)
	}
	w := workspace.New([]workspace.Folder{folder}).Of(workspace.Agent{Folder: work, Seen: true})
	for _, path := range []string{"a.go", "./a.go", "sub/../a.go", work + "/a.go"} {
		if text, ok := w.ReadText(path); !ok || text != "package a\n" {
			t.Errorf("%s: %q, %t", path, text, ok)
		}
	}
	if text, ok := w.ReadText("empty"); !ok || text != "" {
		t.Errorf("empty: %q, %t", text, ok)
	}
	for _, path := range []string{
		".env", "env", ".git/config", "../outside/c.go", dir + "/outside/c.go", dir + "/alias/a.go", "link.go", "inner.go", "folder/c.go", "own/b.go", "folder/../a.go",
		"binary", "latin", "long", "broken", "missing", "sub", "", "/etc/passwd", "~/.ssh/id_rsa", "a.go\x00",
	} {
		if text, ok := w.ReadText(path); ok {
			t.Errorf("%q is read: %.20q", path, text)
		}
	}
	for path, want := range map[string][2]bool{"a.go": {true, true}, ".env": {true, true}, "new.go": {false, true}, "new/deep.go": {false, true}, "a.go/x": {false, false}, "broken": {true, true}} {
		if there, known := w.IsThere(path); there != want[0] || known != want[1] {
			t.Errorf("%s: there %t, known %t", path, there, known)
		}
	}
	unseen := workspace.New([]workspace.Folder{folder}).Of(workspace.Agent{Folder: work})
	if _, ok := unseen.ReadText("a.go"); ok {
		t.Error("a file is read that heldcall does not see")
	}
	if _, known := unseen.IsThere("a.go"); known {
		t.Error("heldcall knows of a file that it does not see")
	}
}
