package shell

import (
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// ShowsOwnTexts reports whether a command that asks a server shows no text that others can write: it asks a server on this
// machine, or the table lists its output as states and numbers.
func (t *Programs) ShowsOwnTexts(u *Use) bool {
	if u.Class == programs.Read {
		return true
	}
	var words []string
	for _, word := range u.Words {
		words = append(words, word.Text)
	}
	return t.Table.ShowsStates(strings.TrimSpace(u.Program+" "+u.Subcommand), words)
}
