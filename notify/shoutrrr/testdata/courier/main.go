// Command courier is what heldcall is when it sends one message, and nothing else, so
// that tests start it quickly.
package main

import (
	"os"

	"github.com/heldcall/heldcall/notify/shoutrrr"
)

func main() { os.Exit(shoutrrr.RunChild(os.Stdin, os.Stdout)) }
