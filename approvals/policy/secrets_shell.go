package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"slices"
	"strings"
)

// secretWords are the indices of the words of a command that may name what holds
// secrets.
func (s *subject) secretWords(c *shell.Command) []int {
	found, known := s.secrets[c]
	if known {
		return found
	}
	if slices.Contains(printers, c.Words[0]) {
		return nil
	}
	searches, pattern := c.Searches(), c.SearchPattern()
	for i, word := range c.Words {
		if i > 0 && i != pattern && (i > maxSecretWords || s.policy.profiles.isSecretWord(word, searches && shell.IsOperand(word))) {
			found = append(found, i)
		}
		if i > maxSecretWords {
			break
		}
	}
	if s.secrets == nil {
		s.secrets = map[*shell.Command][]int{}
	}
	s.secrets[c] = found
	return found
}

// isSecretWord reports whether a word names a path of the list, as it is or in an
// option (--file=.env), a revision (HEAD:.env) or an upload (@.env), or, of a
// program that searches, a folder near one.
func (p *profiles) isSecretWord(word string, searched bool) bool {
	if len(word) > maxPath {
		return true
	}
	if strings.ContainsAny(word, match.GlobSigns) && p.selects(word) {
		return true
	}
	for _, text := range pathsIn(word) {
		l, _ := match.Locate(text)
		if p.isSensitive(l) && (!strings.ContainsAny(text, " \t\n") || strings.Contains(text, "/")) {
			return true
		}
	}
	if !searched || strings.Contains(word, ":") {
		return false
	}
	l, _ := match.Locate(word)
	return p.nearSecrets(l)
}

// pathsIn are the texts in a word that may be paths: the word, and what follows
// each sign that joins a path to something else.
func pathsIn(word string) []string {
	texts := []string{word}
	for i := 0; i < len(word) && len(texts) < 16; i++ {
		if strings.IndexByte("=:@,", word[i]) >= 0 && i+1 < len(word) {
			texts = append(texts, word[i+1:])
		}
	}
	if len(word) > 2 && word[0] == '-' && match.IsLetter(word[1]) {
		texts = append(texts, word[2:])
	}
	return texts
}

// maxSecretWords is how many words of a command are compared with the list of
// secrets. The first word beyond counts as one of them.
const maxSecretWords = 256

// printers are programs that take no word for a file.
var printers = []string{"echo", "printf", "true", "false"}
