//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package launch

import "os"

// readsKeys is true: whether a program draws on all of the terminal is not known.
func readsKeys(*os.File) bool { return true }
