package policy

import (
	"slices"
	"strings"
)

// maxSecretWords is how many words of a command are compared with the list of
// secrets. The first word beyond counts as one of them.
const maxSecretWords = 256

// printers are programs that take no word for a file.
var printers = []string{"echo", "printf", "true", "false"}

// searchers are programs that read what is below a folder, and copiers those that
// take it elsewhere. grep and diff do so with -r.
var searchers = []string{"rg", "ag", "ack", "rgrep", "grep", "egrep", "fgrep", "tar", "zip", "rsync", "scp", "cp", "diff"}

// secretWords are the indices of the words of a command that may name what holds
// secrets.
func (s *subject) secretWords(c *command) []int {
	found, known := s.secrets[c]
	if known {
		return found
	}
	if slices.Contains(printers, c.words[0]) {
		return nil
	}
	searches, pattern := c.searches(), c.searchPattern()
	for i, word := range c.words {
		if i > 0 && i != pattern && (i > maxSecretWords || s.policy.profiles.isSecretWord(word, searches && isOperand(word)) || s.secretFrom(c.folder, word, searches) || c.showsEnvironment(i)) {
			found = append(found, i)
		}
		if i > maxSecretWords {
			break
		}
	}
	if last := len(c.words) - 1; last > 0 && searches && c.folder != "" && len(found) == 0 && s.policy.profiles.isSecretWord(c.folder, true) {
		found = append(found, last)
	}
	if s.secrets == nil {
		s.secrets = map[*command][]int{}
	}
	s.secrets[c] = found
	return found
}

// secretFrom reports whether a word is the path of a secret as it counts from a folder
// that the script has changed to before.
func (s *subject) secretFrom(folder, word string, searches bool) bool {
	return folder != "" && isOperand(word) && s.policy.profiles.isSecretWord(within(folder, word), searches)
}

// isSecretWord reports whether a word names a path of the list, as it is or in an
// option (--file=.env), a revision (HEAD:.env) or an upload (@.env), or, of a
// program that searches, a folder near one.
func (p *profiles) isSecretWord(word string, searched bool) bool {
	if len(word) > maxPath {
		return true
	}
	if strings.ContainsAny(word, globSigns) && p.selects(word) {
		return true
	}
	for _, text := range pathsIn(word) {
		l, _ := locate(text)
		if p.isSensitive(l) && (!strings.ContainsAny(text, " \t\n") || strings.Contains(text, "/")) {
			return true
		}
	}
	if !searched || strings.Contains(word, ":") {
		return false
	}
	l, _ := locate(word)
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
	if len(word) > 2 && word[0] == '-' && isLetter(word[1]) {
		texts = append(texts, word[2:])
	}
	return texts
}

// patternPrograms are programs whose first operand is what they search for.
var patternPrograms = []string{"grep", "egrep", "fgrep", "rgrep", "rg", "ag", "ack"}

// flagLetters are options of all of patternPrograms that take no value.
const flagLetters = "cFHhilnorRsvwx"

// searchPattern is the index of the word that a program searches for, 0 where that
// is not certain. A word that could be a path is not taken for one.
func (c *command) searchPattern() int {
	name := c.words[0][strings.LastIndexByte(c.words[0], '/')+1:]
	if !slices.Contains(patternPrograms, name) {
		return 0
	}
	for i, word := range c.words[1:] {
		switch {
		case !isOption(word) && !strings.HasPrefix(word, ".") && !strings.ContainsAny(word, "/~"):
			return i + 1
		case len(word) < 2 || !isOption(word) || strings.Trim(word[1:], flagLetters) != "":
			return 0
		}
	}
	return 0
}

// searches reports whether a command reads or takes what is below a folder.
func (c *command) searches() bool {
	name := c.words[0][strings.LastIndexByte(c.words[0], '/')+1:]
	if !slices.Contains(searchers, name) {
		return false
	}
	if !strings.HasSuffix(name, "grep") && name != "cp" && name != "scp" && name != "diff" || name == "rgrep" {
		return true
	}
	return slices.ContainsFunc(c.words[1:], func(word string) bool {
		return isOption(word) && (strings.HasPrefix(word, "--") && strings.Contains(word, "recursive") || !strings.HasPrefix(word, "--") && strings.ContainsAny(word, "rRa"))
	})
}
