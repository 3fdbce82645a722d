package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/heldcall/heldcall/internal/filelock"
)

// lockDir creates the folder and locks it: two servers on one folder lose writes.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	f, err := filelock.Take(filepath.Join(dir, "heldcall.lock"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the data folder: %w", err)
	case f == nil:
		return nil, fmt.Errorf("lock the data folder %s: another heldcall uses it; stop that one or set nats.dir to another folder", dir)
	}
	return f, nil
}
