// Package filelock locks files, so that one process at a time uses what they are in. A lock ends
// with its process, however that ends.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// Take opens a file, which it makes if needed, and locks it until the file is closed. It returns nil
// if another process has locked it.
func Take(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f)
	if err == nil && locked {
		return f, nil
	}
	if err != nil {
		err = fmt.Errorf("lock %s: %w", name, err)
	}
	return nil, errors.Join(err, f.Close())
}
