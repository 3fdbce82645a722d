package main

import "os"

// passedOn is what must not end heldcall before its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// sentByTerminal is true: Windows tells every process of the console.
func sentByTerminal(os.Signal) bool { return true }

// hasTerminal is false: Windows tells of a console that closes by another signal.
func hasTerminal() bool { return false }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
