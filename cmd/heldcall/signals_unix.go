//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that `heldcall run` hands on to its command.
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

// hasTerminal reports whether the process has a terminal that is open.
func hasTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}

// exitStatus is the exit code as shells tell it: 128 and the signal's number if
// a signal ended the process.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
