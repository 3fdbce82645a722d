package policy

import (
	"fmt"
)

// maxCommands is how many commands a reviewer is shown.
const maxCommands = 50

// firstOf are so many commands as a reviewer is shown, and how many there are
// besides.
func firstOf(commands []string) []string {
	if len(commands) <= maxCommands {
		return commands
	}
	return append(commands[:maxCommands:maxCommands], fmt.Sprintf("and %d more", len(commands)-maxCommands))
}
