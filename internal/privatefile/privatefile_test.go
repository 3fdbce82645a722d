//go:build unix

package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only files that nobody else can read or write are read. The error names file, mode and command.
func TestModes(t *testing.T) {
	for mode, refused := range map[fs.FileMode]bool{
		0o600: false, 0o400: false, 0o700: false,
		0o644: true, 0o640: true, 0o604: true, 0o660: true, 0o620: true, 0o602: true, 0o666: true, 0o444: true, 0o440: true,
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := errors.Join(os.WriteFile(file, []byte("k"), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		text, err := Read(file)
		if !refused {
			if string(text) != "k" {
				t.Errorf("%o: %v", mode, err)
			}
			continue
		}
		var exposed *Error
		if !errors.As(err, &exposed) || !strings.Contains(err.Error(), fmt.Sprintf("%04o", mode)) || !strings.Contains(err.Error(), "chmod 600 "+file) {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
