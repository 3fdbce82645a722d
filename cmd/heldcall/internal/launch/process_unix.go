//go:build unix

package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn returns the signals that `heldcall run` passes on to its command.
func passedOn() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// sentByTerminal reports whether a signal has reached the command without us: a
// terminal sends what its keys mean to every process of its foreground group,
// to which the command belongs.
func sentByTerminal(sig os.Signal) bool {
	if sig == syscall.SIGTERM {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	foreground, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// exitStatus returns the exit code as in shells: 128 and the signal's number if
// a signal ended the process.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
