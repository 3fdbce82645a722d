//go:build clients

package examples_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestBotJS(t *testing.T) {
	dir := installed(t, "bot-js", "package-lock.json", func(dir string) {
		command(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	testBot(t, "node", filepath.Join(dir, "bot.mjs"))
}

func TestBotPython(t *testing.T) {
	dir := installed(t, "bot-python", "requirements.txt", func(dir string) {
		command(t, dir, "python3", "-m", "venv", "venv")
		command(t, dir, filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--no-deps", "--disable-pip-version-check",
			"--requirement", "requirements.txt")
	})
	testBot(t, filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "bot.py"))
}

// installed copies an example into the cache and installs what it needs there,
// once for each state of its pins.
func installed(t *testing.T, example, pins string, install func(dir string)) string {
	t.Helper()
	pinned, err := os.ReadFile(filepath.Join(example, pins))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache(t), fmt.Sprintf("%s-%.8x", example, sha256.Sum256(pinned)))
	copyFiles(t, example, dir)
	ready := filepath.Join(dir, "ready")
	if _, err := os.Stat(ready); err == nil {
		return dir
	}
	install(dir)
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cache is the folder that $HELDCALL_CACHE names, else heldcall in the user's
// cache folder.
func cache(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HELDCALL_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(user, "heldcall")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyFiles copies the files of an example, not what was installed beside them.
func copyFiles(t *testing.T, example, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(example)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(example, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
