package shell

import (
	"regexp"
	"slices"
)

var (
	jqEnvironment = regexp.MustCompile(`(^|[^.\w])(env\b|\$ENV\b)`)
	psEnvironment = regexp.MustCompile(`^[A-Za-z]*e[A-Za-z]*$`)            // its letters without a dash
	psValue       = regexp.MustCompile(`^(-[A-Za-z]*[CGgopqstUu]|--\w+)$`) // the next word is a value
	scriptRunners = []string{"npm", "pnpm", "yarn", "bun"}
)

// ShowsEnvironment reports whether the word i of a command makes it print environment
// variables, which may hold keys: a filter of jq, the letter e of ps, the built-in script
// env of npm.
func (c *Command) ShowsEnvironment(i int) bool {
	word, before := c.Words[i], c.Words[i-1]
	switch c.Words[0] {
	case "jq":
		return jqEnvironment.MatchString(word)
	case "ps":
		return psEnvironment.MatchString(word) && !psValue.MatchString(before)
	}
	return word == "env" && slices.Contains(scriptRunners, c.Words[0]) && slices.Contains([]string{"run", "run-script"}, before)
}
