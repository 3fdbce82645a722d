package shell

import (
	"slices"
	"strings"
)

// searchers are programs that read what is below a folder, and copiers those that
// take it elsewhere. grep does so with -r.
var searchers = []string{"rg", "ag", "ack", "rgrep", "grep", "egrep", "fgrep", "tar", "zip", "rsync", "scp", "cp"}

// patternPrograms are programs whose first operand is what they search for.
var patternPrograms = []string{"grep", "egrep", "fgrep", "rgrep", "rg", "ag", "ack"}

// flagLetters are options of all of patternPrograms that take no value.
const flagLetters = "cFHhilnorRsvwx"

// SearchPattern is the index of the word that a program searches for, 0 where that
// is not certain. A word that could be a path is not taken for one.
func (c *Command) SearchPattern() int {
	name := c.Words[0][strings.LastIndexByte(c.Words[0], '/')+1:]
	if !slices.Contains(patternPrograms, name) {
		return 0
	}
	for i, word := range c.Words[1:] {
		switch {
		case !isOption(word) && !strings.HasPrefix(word, ".") && !strings.ContainsAny(word, "/~"):
			return i + 1
		case len(word) < 2 || !isOption(word) || strings.Trim(word[1:], flagLetters) != "":
			return 0
		}
	}
	return 0
}

// Searches reports whether a command reads or takes what is below a folder.
func (c *Command) Searches() bool {
	name := c.Words[0][strings.LastIndexByte(c.Words[0], '/')+1:]
	if !slices.Contains(searchers, name) {
		return false
	}
	if !strings.HasSuffix(name, "grep") && name != "cp" && name != "scp" || name == "rgrep" {
		return true
	}
	return slices.ContainsFunc(c.Words[1:], func(word string) bool {
		return isOption(word) && (strings.HasPrefix(word, "--") && strings.Contains(word, "recursive") || !strings.HasPrefix(word, "--") && strings.ContainsAny(word, "rRa"))
	})
}
