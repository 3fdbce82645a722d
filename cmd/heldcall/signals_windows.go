package main

// hasTerminal is false: Windows has another signal for a console that closes.
func hasTerminal() bool { return false }
