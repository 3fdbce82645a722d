//go:build unix

package main

import "os"

// hasTerminal reports whether the process has a terminal that is open.
func hasTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}
