package launch

import "os"

// passedOn returns the signals that must not end heldcall before its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// sentByTerminal is true: Windows signals every process of the console.
func sentByTerminal(os.Signal) bool { return true }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
