//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// readsKeys reports whether a program reads single keys of a terminal, as those that
// draw on all of it do.
func readsKeys(terminal *os.File) bool {
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), getTermios)
	return err == nil && state.Lflag&unix.ICANON == 0
}
