// Package privatefile reads the files with keys that only their owner may read; it hides the modes and
// owners of operating systems.
package privatefile

import (
	"fmt"
	"io/fs"
	"os"
)

// Error reports that others than its owner can use a file.
type Error struct {
	File string
	Mode fs.FileMode
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s has the mode %04o, so that others can use the key in it; run: chmod 600 %s", e.File, e.Mode.Perm(), e.File)
}

// Read reads a file. It fails with an [*Error] if others than its owner can read or write it. A file
// that belongs to another user may be readable by a group, as Kubernetes mounts secrets for users that
// are not root. On Windows all files are read.
func Read(name string) ([]byte, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// Check fails as [Read] does, without reading the file.
func Check(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	others := fs.FileMode(0o077)
	if !isOwn(info) {
		others = 0o037
	}
	if hasModes && info.Mode().Perm()&others != 0 {
		return &Error{name, info.Mode()}
	}
	return nil
}
