// Package testdeps gives tests that run real clients, agents and browsers what these
// need: packages of npm and PyPI at the versions of a lock file, and heldcall itself.
package testdeps

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// manifests are the files that determine the installed packages.
var manifests = []string{"package.json", "package-lock.json", ".npmrc", "requirements.txt"}

// Install installs what the manifests in a folder pin, and returns where: a folder
// with node_modules or, for PyPI, with a virtual environment named venv. It stays in
// the user's cache folder, one folder for each state of the manifests.
func Install(t testing.TB, source string) string {
	t.Helper()
	files, sum := read(t, source)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "heldcall-tests", filepath.Base(source)+"-"+sum)
	ready := filepath.Join(dir, "ready")
	if _, err := os.Stat(ready); err == nil {
		return dir
	}
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if files["requirements.txt"] != nil {
		Command(t, dir, "python3", "-m", "venv", "venv")
		Command(t, dir, filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--requirement", "requirements.txt")
	} else {
		// Not ci: it fails where an optional package of another platform is not to be had.
		Command(t, dir, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
	}
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// read reads the manifests in a folder, and names their state.
func read(t testing.TB, source string) (files map[string][]byte, sum string) {
	t.Helper()
	files = make(map[string][]byte)
	digest := sha256.New()
	for _, name := range manifests {
		content, err := os.ReadFile(filepath.Join(source, name))
		switch {
		case err == nil:
			files[name] = content
			fmt.Fprintf(digest, "%s %d\n%s", name, len(content), content)
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		}
	}
	if files["package-lock.json"] == nil && files["requirements.txt"] == nil {
		t.Fatalf("nothing is pinned in %s", source)
	}
	return files, hex.EncodeToString(digest.Sum(nil)[:8])
}

// Scripts copies a folder of scripts beside the npm packages that it pins, where
// Node looks for them, and returns the copy.
func Scripts(t testing.TB, source string) string {
	t.Helper()
	dir := t.TempDir()
	modules := filepath.Join(dir, "node_modules")
	if err := errors.Join(
		os.CopyFS(dir, os.DirFS(source)),
		os.RemoveAll(modules), // what somebody has installed beside the scripts
		os.Symlink(filepath.Join(Install(t, source), "node_modules"), modules),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Python returns the interpreter of the virtual environment with what a folder pins.
func Python(t testing.TB, source string) string {
	t.Helper()
	return filepath.Join(Install(t, source), "venv", "bin", "python")
}

// Heldcall returns the path of a heldcall that was built from this tree.
func Heldcall(t testing.TB) string {
	t.Helper()
	return Program(t, ".", "github.com/heldcall/heldcall/cmd/heldcall")
}

// Program returns the path of a program that is built from a package, as a folder names it.
// It is in the build cache: see Build.
func Program(t testing.TB, dir, source string) string {
	t.Helper()
	program, err := Build(dir, source)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Build is Program without a test. It has go run tell where its program is, since go run
// links a program once and keeps it, and go build links one for each test that needs it.
func Build(dir, source string) (program string, err error) {
	echo := "echo"
	if runtime.GOOS == "windows" {
		echo = "cmd /c echo"
	}
	for range 2 { // the first time it is in a temporary folder, and kept from then on
		command := exec.Command("go", "run", "-exec", echo, source)
		command.Dir = dir
		out, err := command.Output()
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		if err != nil {
			return "", fmt.Errorf("build %s: %w", source, err)
		}
		program = strings.TrimSpace(string(out))
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("build %s: %s is not kept", source, program)
}

// Command runs a command in a folder to its end. The test fails if it does.
func Command(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
}
