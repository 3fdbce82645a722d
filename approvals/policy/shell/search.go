package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// flagLetters are the options without a value of all programs whose first operand is a search text.
const flagLetters = "cFHhilnorRsvwx"

// SearchPattern returns the index of the word that a program searches for, or of a script that only
// prints, or 0 if that is uncertain. A word that may be a path is not such a word.
func (t *Programs) SearchPattern(c *Command) int {
	if script := t.ScriptWord(c.Words); script > 0 {
		return script
	}
	if !t.SearchesFor(c.Words[0]) {
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

// Searches reports whether a command reads or copies the files below a folder, or lists them for
// another.
func (t *Programs) Searches(c *Command) bool { return c.data.feeds || t.Table.Searches(c.Words) }

// SelectsNames reports whether a command selects the names of files that another one reads.
func (c *Command) SelectsNames() bool {
	lists := func(word string) bool { return isOption(word) && strings.Contains(word, "l") } // files by what they hold
	return c.data.feeds && (c.Words[0] == "fd" || (c.Words[0] == "grep" && !slices.ContainsFunc(c.Words[1:], lists)))
}

// MayOpenLast reports whether the last operand of a command may become a * in a suggestion: the
// program only reads its operands.
func (t *Programs) MayOpenLast(c *Command) bool {
	switch {
	case len(c.Words) < 3, c.kind.runsOthers, t.Writes(c.Words), !t.Listed(c.Words[0]), strings.Contains(c.Words[0], "/"):
		return false
	case c.wild != nil, slices.Contains(c.mayStar[1:], false), slices.ContainsFunc(c.Words, isOption):
		return false
	}
	return true
}

var (
	jqEnvironment = regexp.MustCompile(`(^|[^.\w])(env\b|\$ENV\b)`)
	psEnvironment = regexp.MustCompile(`^[A-Za-z]*e[A-Za-z]*$`)                                                                                                               // its letters without a dash
	psValue       = regexp.MustCompile(`^(-[ABD-FH-TV-Za-fh-nrv-z]*[CGgopqstUu]|--(cols|columns|format|[Gg]roup|lines|pid|ppid|quick-pid|rows|sid|sort|tty|[Uu]ser|width))$`) // the next word is a value
	scriptRunners = []string{"npm", "pnpm", "yarn", "bun"}
)

// ShowsEnvironment reports whether word i of a command prints environment variables, which may be
// keys: a filter of jq, also in gh, the letter e of ps, the script env of npm.
func (c *Command) ShowsEnvironment(i int) bool {
	word, before := c.Words[i], c.Words[i-1]
	switch c.Words[0] {
	case "jq":
		return jqEnvironment.MatchString(word)
	case "gh":
		isFilter := before == "-q" || before == "--jq" || strings.HasPrefix(word, "--jq=") || strings.HasPrefix(word, "-q")
		return isFilter && jqEnvironment.MatchString(word)
	case "ps":
		return psEnvironment.MatchString(word) && !psValue.MatchString(before)
	}
	return word == "env" && slices.Contains(scriptRunners, c.Words[0]) && slices.Contains([]string{"run", "run-script"}, before)
}

// LeavesOut reports whether word i of find is a pattern of the files that it leaves out: -not -path '*/.git/*', or
// -path ./.git -prune -o. In brackets, or negated twice, the pattern may mean others.
func (c *Command) LeavesOut(i int) bool {
	at := func(k int) string {
		if k < 1 || k >= len(c.Words) {
			return ""
		}
		return c.Words[k]
	}
	isNot := func(k int) bool { return at(k) == "-not" || at(k) == "!" }
	switch {
	case path.Base(c.Words[0]) != "find", slices.Contains(c.Words, "("), !slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename"}, at(i-1)), isNot(i - 3):
		return false
	case isNot(i - 2):
		return true
	}
	return at(i+1) == "-prune" && (at(i+2) == "-o" || at(i+2) == "-or")
}
