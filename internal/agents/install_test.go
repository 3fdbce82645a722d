//go:build agents

package agents_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// installed installs the pins of a folder beside this file, of npm or of PyPI, and
// returns where. That stays in the user's cache folder, one folder for each state
// of the pins.
func installed(t *testing.T, source string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := false
	pins, err := os.ReadFile(filepath.Join(source, "package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		python = true
		pins, err = os.ReadFile(filepath.Join(source, "requirements.txt"))
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pins)
	dir := filepath.Join(cache, "heldcall-agents", source+"-"+hex.EncodeToString(sum[:8]))
	ready := filepath.Join(dir, "ready")
	if _, err := os.Stat(ready); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if python {
		command(t, dir, "python3", "-m", "venv", "venv")
		command(t, dir, filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check", "--requirement", "requirements.txt")
	} else {
		// Not ci: it fails where an optional package of another platform is not to be had.
		command(t, dir, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
	}
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// built returns the path of a heldcall that was built from this tree.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "heldcall")
	command(t, ".", "go", "build", "-o", program, "github.com/heldcall/heldcall/cmd/heldcall")
	return program
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
}

// module is the path of a file of a package of npm.
func module(dir, path string) string {
	return filepath.Join(dir, "node_modules", filepath.FromSlash(path))
}

// native is the path of a program that a package of this platform holds. The
// agents' own start scripts look for it; npm's install scripts are not run.
func native(t *testing.T, dir string, byPlatform map[string]string) string {
	t.Helper()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	path, ok := byPlatform[platform]
	if !ok {
		t.Fatalf("this test does not know the agent's package for %s", platform)
	}
	return module(dir, path)
}
