//go:build clients

package clients_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// client is one program that speaks with an SDK.
type client struct {
	name    string
	command []string
	modes   []string
}

// install readies every client and returns them. What is installed stays in the
// user's cache folder, one folder for each state of the pinned versions.
func install(t *testing.T) []client {
	t.Helper()
	npm := installed(t, "npm", func(dir string) {
		command(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	pypi := installed(t, "pypi", func(dir string) {
		command(t, dir, "python3", "-m", "venv", "venv")
		command(t, dir, filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--no-deps", "--disable-pip-version-check",
			"--requirement", "requirements.txt")
	})
	gosdk := filepath.Join(t.TempDir(), "gosdk")
	command(t, "gosdk", "go", "build", "-o", gosdk, ".")

	node := func(script string, args ...string) []string {
		return append([]string{"node", filepath.Join(npm, script)}, args...)
	}
	two, three := []string{"whole", "stream"}, []string{"whole", "raw", "helper"}
	return []client{
		{"openai-node", node("openai.mjs"), three},
		{"vercel-openai", node("vercel.mjs", "openai"), two},
		{"vercel-compatible", node("vercel.mjs", "openai-compatible"), two},
		{"langchain", node("langchain.mjs"), two},
		{"openai-python", []string{filepath.Join(pypi, "venv", "bin", "python"), filepath.Join(pypi, "openai_client.py")}, three},
		{"openai-go", []string{gosdk, "openai-go"}, two},
		{"go-openai", []string{gosdk, "go-openai"}, two},
	}
}

// installed returns the folder in which the files of source are installed.
func installed(t *testing.T, source string, work func(dir string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "heldcall-clients", source+"-"+digest(t, source))
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
	work(dir)
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// digest identifies the content of a folder.
func digest(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, entry := range entries {
		if entry.IsDir() {
			t.Fatalf("%s/%s is a folder: the clients install themselves elsewhere, remove it", folder, entry.Name())
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", entry.Name(), len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
}
