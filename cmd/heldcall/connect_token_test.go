package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
)

// Issue 12, number 35: a file with a token is one that only its owner reads, both as
// `heldcall run` writes it and as the other commands read it.
func TestTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := launch.WriteToken(file, "heldcall_X"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("the file is %v, %v", info, err)
	}
	if got, err := readToken(file); err != nil || got != "heldcall_X" {
		t.Errorf("the token is %q, %v", got, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(file); !errors.As(err, new(*usageError)) {
		t.Errorf("a file that others read: %v", err)
	}
	if _, err := readToken(file + "x"); !errors.As(err, new(*usageError)) {
		t.Errorf("no file: %v", err)
	}
}
