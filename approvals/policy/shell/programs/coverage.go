package programs

import (
	_ "embed"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed coverage.yaml
var coverageFile []byte

// coverage is what a last * of an allow pattern covers beside operands and listed options: see coverage.yaml.
type coverage struct {
	open    map[string]*openProgram
	scripts map[string]map[string]bool // options in front of a script, by interpreter
	starts  map[string]bool            // subcommands that run the words after them
	named   map[string]bool
	quiet   map[string]bool
}

// openProgram is a program or subcommand with the words that a * does not cover.
type openProgram struct {
	never    []string
	away     []string
	values   string
	words    []string
	apart    map[string]bool
	plain    bool
	ends     bool
	closed   bool
	whole    bool
	short    bool
	commands map[string]*openProgram
}

// readCoverage reads coverage.yaml.
func (t *Table) readCoverage() strictyaml.Errors {
	r := &strictyaml.Reader{File: "coverage.yaml"}
	c := &t.coverage
	c.open, c.scripts = map[string]*openProgram{}, map[string]map[string]bool{}
	r.Mapping(r.Root(coverageFile), "", []strictyaml.Key{
		{Name: "open", Read: func(n *yaml.Node, path string) { readOpen(r, n, path, c.open) }},
		{Name: "scripts", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) {
				var options map[string]bool
				setNames(r, &options)(value, path)
				for program := range strings.SplitSeq(name.Value, ", ") {
					c.scripts[program] = options
				}
			})
		}},
		{Name: "starts", Read: setNames(r, &c.starts)},
		{Name: "named", Read: setNames(r, &c.named)},
		{Name: "quiet", Read: setNames(r, &c.quiet)},
	})
	return r.Errors
}

func readOpen(r *strictyaml.Reader, n *yaml.Node, path string, to map[string]*openProgram) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		p := &openProgram{commands: map[string]*openProgram{}}
		words := func(to *[]string) func(*yaml.Node, string) {
			return func(n *yaml.Node, _ string) { *to = strings.Fields(n.Value) }
		}
		r.Mapping(value, path, []strictyaml.Key{
			{Name: "never", Read: words(&p.never)},
			{Name: "away", Read: words(&p.away)},
			{Name: "values", Read: setLetters(r, &p.values)},
			{Name: "words", Read: words(&p.words)},
			{Name: "apart", Read: setNames(r, &p.apart)},
			{Name: "plain", Read: r.SetBool(&p.plain)},
			{Name: "ends", Read: r.SetBool(&p.ends)},
			{Name: "closed", Read: r.SetBool(&p.closed)},
			{Name: "whole", Read: r.SetBool(&p.whole)},
			{Name: "short", Read: r.SetBool(&p.short)},
			{Name: "commands", Read: func(n *yaml.Node, path string) { readOpen(r, n, path, p.commands) }},
		})
		for program := range strings.SplitSeq(name.Value, ", ") {
			to[program] = p
		}
	})
}

// Star is what a last * of an allow pattern may cover of a command.
type Star struct {
	Words []bool // for each word of the command, whether it is covered
	File  string // the program or script that the pattern names by a path, or ""
	Reach Reach
}

// Reach is how far a last * of an allow pattern reaches, by the program that the pattern names.
type Reach string

// The reaches of a last *.
const (
	ReachListed Reach = "listed" // operands and options that programs.yaml lists
	ReachOpen   Reach = "open"   // all words but those that coverage.yaml lists
	ReachScript Reach = "script" // all words, which are for a script
	ReachAll    Reach = "all"    // all words, of a program in no table
)

// Star returns what a last * covers of a command whose first n words are written in the pattern. It reports false if it
// covers nothing, as the program that the pattern names runs others.
func (t *Table) Star(argv []string, wild []bool, n int) (star Star, ok bool) {
	from := t.startedBy(argv[:n])
	star.Words = make([]bool, from, len(argv))
	argv, wild, n = argv[from:], after(wild, from), n-from
	if strings.Contains(argv[0], "/") {
		star.File = argv[0]
	}
	name, base := Names(argv[0])
	if t.coverage.runsNext(name, argv[1:n]) {
		return star, false
	}
	named := slices.Concat([]string{name}, argv[1:])
	script, open := t.coverage.script(named[:n]), t.coverage.open[name]
	switch {
	case script > 0:
		star.File, star.Reach = argv[script], ReachScript
	case open != nil:
		star.Reach = ReachOpen
	case t.isKnown(name, base):
		star.Reach = ReachListed
	default:
		star.Reach = ReachAll
	}
	may := t.StarMay(named, wild)
	if star.Reach == ReachOpen {
		star.Reach = open.extend(may, named, wild, n)
	} else if star.Reach != ReachListed {
		for i := 1; i < len(may); i++ {
			may[i] = may[i] || isCertain(named, wild, i)
		}
	}
	star.Words = append(star.Words, may...)
	return star, open != nil || star.Reach != ReachListed || t.Listed(name) || !t.RunsOthers(name)
}

// runsNext reports whether the words of a pattern end with a subcommand that runs the words after it.
func (c *coverage) runsNext(program string, words []string) bool {
	text := program
	for _, word := range words {
		if !isOption(word) || word == "--" {
			text += " " + word
		}
	}
	return c.starts[text]
}

// extend adds the words that a last * covers of an open program to those that the table of options lists, and removes those
// that are of another kind. It returns how far the * reaches.
func (p *openProgram) extend(may []bool, argv []string, wild []bool, n int) Reach {
	walk := openWalk{chain: []*openProgram{p}, level: p, wild: wild, written: n}
	reach := ReachOpen
	reliable := true // behind a subcommand that the table does not list it knows nothing
	for i := 1; i < len(argv); i++ {
		judged := walk.word(argv, i)
		if i == n && walk.level.closed {
			reach = ReachListed
		}
		listed := may[i] && reliable && judged != refused
		reliable = reliable && (may[i] || i < n)
		may[i] = listed || (judged == covered && isCertain(argv, wild, i))
	}
	return reach
}

// isCertain reports whether a shell expands word i to no more than names of files that are no options.
func isCertain(argv []string, wild []bool, i int) bool {
	word := argv[i]
	return !strings.Contains(word, "\x00") && !(wild != nil && wild[i] && (word == "" || strings.IndexByte("*?[-", word[0]) >= 0))
}

// isKnown reports whether a program is in one of the tables.
func (t *Table) isKnown(name, base string) bool {
	for _, text := range []string{name, base} {
		if stated, known := t.stated[text]; t.options[text] != nil || known || stated.runner != nil || len(t.tasks.started.launchers[text]) > 0 {
			return true
		}
	}
	return t.RunsOthers(name) || t.IsShell(name)
}

// startedBy returns the index of the program that the words of a pattern name: the first, or one that launchers and
// programs such as sudo and env start.
func (t *Table) startedBy(words []string) int {
	from := 0
	for from < len(words) {
		argv := words[from:]
		next := t.behindLauncher(argv)
		if w := t.Wrapper(argv[0]); next == 0 && w != nil && !w.Appends && !w.Joins && !w.Scripts {
			if own, ok := w.Own(argv); ok && own < len(argv) && !isOption(argv[own]) {
				next = own
			}
		}
		if next == 0 {
			break
		}
		from += next
	}
	return from
}

// behindLauncher returns the index of the program that a launcher of the project starts, or 0.
func (t *Table) behindLauncher(argv []string) int {
	length := 0
	for _, l := range t.tasks.started.launchers[argv[0]] {
		if n := len(l.words); n > length && n < len(argv) && slices.Equal(argv[:n], l.words) {
			length = n
		}
	}
	p := t.coverage.open[argv[0]]
	if length == 0 || (length == 1 && p != nil && (p.commands[argv[1]] != nil || p.apart[argv[1]] || t.stated[argv[0]+" "+argv[1]].entries != nil)) {
		return 0 // a subcommand
	}
	for length < len(argv) && t.coverage.quiet[argv[length]] {
		length++
	}
	if length == len(argv) || isOption(argv[length]) {
		return 0
	}
	return length
}

// script returns the index of the script that the words of a pattern name, for an interpreter, or 0.
func (c *coverage) script(words []string) int {
	for key, options := range c.scripts {
		n := 0
		for name := range strings.SplitSeq(key, " ") {
			if n == len(words) || words[n] != name {
				n = len(words) // it is another program
				break
			}
			n++
		}
		for n < len(words) && options[words[n]] {
			n++
		}
		if n < len(words) && c.isFile(words[n]) {
			return n
		}
	}
	return 0
}

// isFile reports whether a word is the name of a script.
func (c *coverage) isFile(word string) bool {
	return !isOption(word) && (c.named[word] || strings.ContainsAny(strings.Trim(word, "./"), "./"))
}

// judgement is whether a * covers a word of an open program.
type judgement int

const (
	unlisted judgement = iota // it is not for coverage.yaml to decide
	covered
	refused // it is listed as of another kind
)

// openWalk reads the words of a command whose program is open.
type openWalk struct {
	chain   []*openProgram // the program and its subcommands: options that one of them lists are not covered
	level   *openProgram   // the last that was certainly read
	wild    []bool
	written int  // so many words are in the pattern
	named   bool // there is no further subcommand
	apart   bool // a subcommand must be written out
	free    bool // the words are for a program that is started
	value   bool // the word may be the value of the option before it
}

// word judges word i. Each word must be read, in order.
func (w *openWalk) word(argv []string, i int) judgement {
	judged := w.listed(argv, i)
	switch {
	case judged != covered:
		return judged
	case w.apart, !w.isPlain(argv[i]):
		return refused
	case w.level.closed:
		return unlisted
	}
	return covered
}

// listed judges word i by what the table lists.
func (w *openWalk) listed(argv []string, i int) judgement {
	word, isValue := argv[i], w.value
	wild := w.wild != nil && w.wild[i]
	w.value = isOption(word) && !w.free && !strings.Contains(word, "=")
	switch {
	case w.free:
	case word == "--" && w.level.ends:
		w.free = true
	case isOption(word):
		if w.lists(argv, i) {
			return refused
		}
	case !w.named && wild && w.level.hasCommands():
		return refused // a file may have the name of a subcommand
	case !w.named && !w.subcommand(word, isValue, i < w.written):
		return unlisted
	case w.barred(word, wild):
		return refused
	}
	return covered
}

func (p *openProgram) hasCommands() bool { return len(p.commands) > 0 || len(p.apart) > 0 }

// setsApart reports whether a word is, or may be short for, a subcommand that must be written out.
func (p *openProgram) setsApart(word string) bool {
	if p.apart[word] || !p.short || p.commands[word] != nil {
		return p.apart[word]
	}
	for name := range p.apart {
		if strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

// subcommand reads a word that may be a subcommand. It reports false if it may as well be the value of an option.
func (w *openWalk) subcommand(word string, isValue, written bool) bool {
	next := w.level.commands[word]
	switch {
	case w.level.setsApart(word) && !written:
		w.apart = true
		return true
	case next == nil && (w.level.apart[word] || w.level.closed):
		next = &openProgram{closed: w.level.closed}
	case next == nil:
		w.named = !isValue
		return true
	}
	w.chain = append(w.chain, next)
	if isValue && !written {
		return false
	}
	w.level = next
	w.named = !next.hasCommands()
	return true
}

// isPlain reports whether a word has no syntax of a shell, or goes to none.
func (w *openWalk) isPlain(word string) bool {
	return !slices.ContainsFunc(w.chain, func(p *openProgram) bool { return p.plain }) || !strings.ContainsAny(word, "`$;&|<>(){}\n\\!*?\"'")
}

// barred reports whether a word is listed by its beginning, or a part.
func (w *openWalk) barred(word string, wild bool) bool {
	return slices.ContainsFunc(w.chain, func(p *openProgram) bool {
		return slices.ContainsFunc(p.words, func(text string) bool {
			part, anywhere := strings.CutPrefix(text, "*")
			if strings.HasSuffix(text, ":") { // a scheme
				word, part, text = strings.ToLower(word), strings.ToLower(part), strings.ToLower(text)
			}
			return wild || strings.HasPrefix(word, text) || (anywhere && strings.Contains(word, part))
		})
	})
}

// lists reports whether an option is listed, or one of those whose value must be below the current folder and is not.
func (w *openWalk) lists(argv []string, i int) bool {
	for _, p := range w.chain {
		for _, option := range p.never {
			if _, given := w.valueOf(argv, i, option); given {
				return true
			}
		}
		for _, option := range p.away {
			if value, given := w.valueOf(argv, i, option); given && leadsAway(value) {
				return true
			}
		}
		if slices.ContainsFunc(p.words, func(text string) bool {
			part, anywhere := strings.CutPrefix(text, "*")
			if strings.HasSuffix(text, ":") {
				return anywhere && strings.Contains(strings.ToLower(argv[i]), strings.ToLower(part))
			}
			return (anywhere && strings.Contains(argv[i], part)) || (isOption(text) && strings.HasPrefix(argv[i], text))
		}) {
			return true
		}
	}
	return false
}

func (w *openWalk) letters() string {
	for i := len(w.chain) - 1; i >= 0; i-- {
		if w.chain[i].values != "" {
			return w.chain[i].values
		}
	}
	return ""
}

// valueOf reports whether word i of a command may be an option, and with which value.
func (w *openWalk) valueOf(argv []string, i int, option string) (value string, given bool) {
	next := ""
	if i+1 < len(argv) {
		next = argv[i+1]
	}
	name, inline, hasInline := strings.Cut(argv[i], "=")
	if hasInline {
		next = inline
	}
	switch {
	case len(option) == 2:
		return valueOfLetter(argv[i], option[1], w.letters(), next)
	case strings.HasPrefix(option, "--"):
		return next, name == option || (!w.chain[0].whole && len(name) > 2 && strings.HasPrefix(option, name))
	}
	return next, "-"+strings.TrimLeft(name, "-") == option
}

// valueOfLetter is valueOf for an option of one letter, which may be behind others. values are the letters of options with
// a value.
func valueOfLetter(word string, letter byte, values, next string) (value string, given bool) {
	if strings.HasPrefix(word, "--") {
		return "", false
	}
	for i := 1; i < len(word) && word[i] != '='; i++ {
		switch {
		case word[i] == letter && i+1 < len(word):
			return strings.TrimPrefix(word[i+1:], "="), true
		case word[i] == letter:
			return next, true
		case strings.IndexByte(values, word[i]) >= 0:
			return "", false
		}
	}
	return "", false
}

// leadsAway reports whether the value of an option may be something that is not below the current folder, or is hidden there.
func leadsAway(value string) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("=@,;<", r) })
	return len(parts) == 0 || strings.Contains(value, "://") || slices.ContainsFunc(parts, func(part string) bool {
		part = strings.TrimLeft(part, " \t\"")
		hasDrive := len(part) > 1 && part[1] == ':'
		return part == "" || hasDrive || strings.IndexByte("/~-$\\", part[0]) >= 0 || slices.ContainsFunc(strings.FieldsFunc(part, isSlash), func(segment string) bool {
			return segment[0] == '.' && segment != "."
		})
	})
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }
