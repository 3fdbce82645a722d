package programs

import (
	"regexp"
	"slices"
	"strings"
)

// tasks is which tasks of a project are its checks.
type tasks struct {
	checks map[string]bool
	never  map[string]bool

	arguments *Program // options that may follow --
	started   started
	own       own
}

// entry describes a check with these words after the runner. Arguments of the program that the
// task starts may be paths, and values of the runner's options.
func (t *tasks) entry(rest []string) Entry {
	e := Entry{Class: Check, Why: "runs a check of the project", Operands: NoPaths}
	if slices.ContainsFunc(rest, func(word string) bool { return word == "--" || word == ".." || strings.ContainsAny(word, "/~") }) {
		e.Operands = AllPaths
	}
	return e
}

// runs reports whether a runner, if it is one, only runs checks of the project.
func (t *tasks) runs(runner *Program, rest []string) bool {
	return runner != nil && t.onlyChecks(runner, rest)
}

// known reports whether words for the program that a task starts are operands or listed options.
func (t *tasks) known(rest []string) bool {
	walk := optionWalk{at: t.arguments}
	return !slices.ContainsFunc(rest, func(word string) bool { return !walk.word(word, false) })
}

// onlyChecks reports whether the operands of a task runner are checks of the project and its
// options are known.
func (t *tasks) onlyChecks(runner *Program, rest []string) bool {
	walk := optionWalk{at: runner}
	found := false
	for i, word := range rest {
		if word == "--" && found {
			return t.known(rest[i+1:])
		}
		isValue := walk.value
		if !walk.word(word, false) {
			return false
		}
		if isValue || isOption(word) || showsMore.MatchString(word) {
			continue
		}
		if found = t.isCheck(word); !found {
			return false
		}
	}
	return found
}

// showsMore is a variable of a task by which it shows more of what it does.
var showsMore = regexp.MustCompile(`^(?:V|VERBOSE)=[01]$`)

func (t *tasks) isCheck(task string) bool {
	if strings.HasPrefix(task, ":") { // of a project of Gradle
		task = task[strings.LastIndexByte(task, ':')+1:]
	}
	const between = ":-_."
	first := strings.TrimLeft(task, between)
	if end := strings.IndexAny(first, between); end >= 0 {
		first = first[:end]
	}
	if first == "" || !(t.checks[first] || t.checks[task]) || strings.ContainsAny(task, "/=") {
		return false
	}
	parts := strings.FieldsFunc(task, func(r rune) bool { return strings.ContainsRune(between, r) })
	return !slices.ContainsFunc(parts, func(part string) bool { return t.never[strings.ToLower(part)] })
}
