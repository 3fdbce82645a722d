package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// maxSecretWords is the most words of a command that are compared. The next one counts as a secret.
const maxSecretWords = 256

// printers are programs without file operands.
var printers = []string{"echo", "printf", "true", "false"}

// MindsSecrets reports whether the tool's calls are compared with the list.
func (c *ParsedCall) MindsSecrets() bool { return c.Kind == Path || c.Kind == Shell }

// Secret returns the part of the call that may be a secret, or "".
func (c *ParsedCall) Secret() string {
	if c.Filter != "" {
		return c.Filter
	}
	for i := range c.Candidates {
		if found := c.Candidates[i].Secret; found != "" {
			return found
		}
	}
	for i, script := range c.Scripts() {
		for _, command := range script.All {
			if found := c.SecretWords(command); len(found) > 0 {
				return command.Words[found[0]]
			}
		}
		if script.NotSimple == "" {
			continue
		}
		for _, word := range strings.FieldsFunc(c.Candidates[i].Text, isShellSign) { // redirections, here-documents, text that is not parsed
			if c.known.Profiles.isSecretWord(word, false) {
				return word
			}
		}
	}
	return ""
}

func isShellSign(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>`'\"$", r) }

// SecretReason returns why a call that may access secrets needs approval.
func (c *ParsedCall) SecretReason() string { return c.SecretFlag() + " No allow rule names it." }

// SecretFlag returns the flag of a call that may access secrets.
func (c *ParsedCall) SecretFlag() string {
	return fmt.Sprintf("The call may access secrets: %s.", match.Visible(match.Shorten(c.Secret(), 60)))
}

// SecretWords returns the indices of the words of a command that may name secrets.
func (c *ParsedCall) SecretWords(of *shell.Command) []int {
	found, known := c.secretWords[of]
	if known {
		return found
	}
	if slices.Contains(printers, of.Words[0]) {
		return nil
	}
	searches, pattern := c.known.Programs.Searches(of), c.known.Programs.SearchPattern(of)
	for i := range of.Words {
		if i > 0 && i != pattern && (i > maxSecretWords || c.mayShowSecret(of, i, searches)) {
			found = append(found, i)
		}
		if i > maxSecretWords {
			break
		}
	}
	if last := len(of.Words) - 1; last > 0 && searches && of.Folder != "" && len(found) == 0 && c.known.Profiles.isSecretWord(of.Folder, true) {
		found = append(found, last)
	}
	if c.secretWords == nil {
		c.secretWords = map[*shell.Command][]int{}
	}
	c.secretWords[of] = found
	return found
}

// mayShowSecret reports whether word i of a command may name a secret, also relative to the folder
// of a cd before it, or shows variables.
func (c *ParsedCall) mayShowSecret(of *shell.Command, i int, searches bool) bool {
	word, operand := of.Words[i], shell.IsOperand(of.Words[i])
	if c.known.Profiles.isSecretWord(word, searches && operand) || of.ShowsEnvironment(i) {
		return true
	}
	return of.Folder != "" && operand && c.known.Profiles.isSecretWord(match.JoinFolder(of.Folder, word), searches)
}
