//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package launch

import "golang.org/x/sys/unix"

const getTermios = unix.TIOCGETA
