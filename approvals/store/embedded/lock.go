package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lockDir creates the folder and locks it: two servers on one folder lose writes.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "heldcall.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	locked, err := tryLock(f)
	if err == nil && !locked {
		err = errors.New("another heldcall uses it; stop that one or set nats.dir to another folder")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data folder %s: %w", dir, err), f.Close())
	}
	return f, nil
}
