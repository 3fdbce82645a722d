// Package shell finds the commands in shell scripts, as far as that is possible without
// running them, and compares them with the patterns of policies.
//
// [Programs.Parse] reads a script: [Script] lists its commands at any depth, with those
// that sudo, xargs, sh -c and the like run. The table of programs is package programs. A
// [Pattern] is for rules that deny or ask and matches a script that may run a command; an
// [AllowPattern] covers one command of plain words.
//
// walk.go reads the statements of a script once, with branches and loops; call.go simple commands; variables.go
// variables and their values; word.go removes quoting; plainlist.go parses scripts that quote nothing.
package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Limits of parsed scripts. Deep nesting makes the parser slow and exhausts the stack.
const (
	MaxScript  = 8 << 10 // bytes
	maxOpen    = 256     // brackets and back quotes
	maxThrough = 8       // programs that run programs, in each other

	maxCommands = 1000 // of one script
)

// Script is a shell command as far as it can be understood without running it.
type Script struct {
	Problem   string   // why it is not parsed, or what a shell may read differently; "" if neither
	NotSimple string   // why its commands are not all that it runs, or ""
	Compound  string   // the same, or why it is more than a list of commands of plain words: it has branches
	NotPlain  string   // the same, or what it does beside plain words that patterns can cover: it redirects
	mentions  []string // parts in which it may name a command that it runs, beside those of its commands
	others    []otherPart
	writes    bool       // it redirects output to a file
	opens     bool       // it quotes a substitution, or sets a variable to unknown text
	Commands  []*Command // the simple commands, in order
	All       []*Command // and those that they run, at any depth
	texts     []string   // the source of every statement at any depth, and the words of every command
	lower     []string   // texts in lower case
	size      int        // see Size
}

// Size is how much there is for a pattern to compare, in units of a short text.
func (s *Script) Size() int { return s.size }

// Command is one simple command.
type Command struct {
	Words []string  // quoting removed; unknown is in place of what only a shell knows
	wild  []bool    // which words have a * or ? that a shell expands; nil: none
	seen  []string  // of words in which variables have values, how people see them; "" for others; nil: none
	opens [2]string // the words with a space between, a word that a shell may expand ending with unknown
	//               where it may; of a program with a folder, or of >>, in a second way too
	source commandSource
	Folder string // that cd has changed to before it, as far as is known; or ""

	Redirect bool // it is a redirection: see redirect.go
	Other    bool // it is the command before it as other shells read that
	Idle     bool // it only changes this shell in a way that does nothing: rules that allow need not cover it

	inner    []*Command // what it runs
	same     []*Command // what does the same together: without options in front of a subcommand
	complete bool       // inner is all that it runs: nothing, where that is empty
	opaque   bool       // it may run anything
	kind     programKind
	data     dataFlow
	mentions []string     // loose texts in which it may name another command: see appendLoose
	words    *sortedWords // see sorted; nil: not needed yet
	mayStar  []bool       // which words a * may match: operands, and options that are known
}

// programKind is what the table knows of a command's program.
type programKind struct {
	runsOthers  bool // it runs others: see RunsOthers
	interprets  bool // it reads scripts: see IsInterpreter
	transparent bool // it only changes time and priority of what it runs
}

// dataFlow is what a command reads and which commands read it.
type dataFlow struct {
	piped  bool   // it reads what another command writes
	fed    bool   // it reads a file or a text by a redirection
	listed bool   // it is xargs, runs a reader and reads names of files
	feeds  bool   // other commands have what it writes as words
	runs   bool   // it runs what it reads
	text   string // what it reads, if a here-document or here-string of the script has it, else ""
}

// Parse reads a script and finds its commands.
func (t *Programs) Parse(src string) *Script {
	f := &finder{table: t, budget: 2 * MaxScript}
	return f.parse(src, 0)
}

// ParseArgv parses the words of a command without a shell, or the script in bash -lc SCRIPT.
func (t *Programs) ParseArgv(argv []string) *Script {
	if script, ok := ShellCall(argv); ok {
		return t.Parse(script)
	}
	s := &Script{}
	total := 0
	words := make([]word, len(argv))
	for i, text := range argv {
		total += len(text)
		words[i] = word{Text: text, Open: text}
	}
	switch all := strings.Join(argv, " "); {
	case len(argv) == 0 || argv[0] == "":
		s.Problem = "The command names no program."
	case total > 4*MaxScript:
		s.Problem = fmt.Sprintf("The command is longer than %d KiB, the limit for judging.", 4*MaxScript>>10)
	case strings.Contains(all, unknown):
		s.Problem = "The command contains a NUL character."
	case !utf8.ValidString(all):
		s.Problem = "The command is not valid UTF-8."
	}
	if s.Problem != "" {
		return Unparsed(s.Problem)
	}
	f := &finder{table: t, script: s, budget: 2 * MaxScript}
	s.Commands = []*Command{f.command(words, false, 0)}
	if slices.ContainsFunc(argv, func(text string) bool { return text == "" || !isPlain(text, true) }) {
		f.joined(strings.Join(argv, " "))
	}
	f.finish()
	return s
}

// joined adds the commands that run if an agent joins the words with spaces for a shell.
func (f *finder) joined(src string) {
	s, c := f.script, f.script.Commands[0]
	if len(src) > f.budget {
		c.opaque = true
		return
	}
	read := f.parse(src, 0)
	f.script = s
	s.NotSimple, s.Compound, s.NotPlain = read.Compound, read.Compound, read.NotPlain
	c.opaque = c.opaque || read.Problem != ""
	s.Commands = append(s.Commands, read.Commands...)
	s.texts = append(s.texts, read.texts...)
	s.mentions = append(s.mentions, read.mentions...)
	for _, other := range read.others {
		s.others = append(s.others, otherPart{other.before + 1, other.text})
	}
}

// ShellCall is the script in the words bash -lc SCRIPT.
func ShellCall(argv []string) (script string, ok bool) {
	if len(argv) == 3 && isPlainShell(argv[0]) && (argv[1] == "-c" || argv[1] == "-lc") {
		return argv[2], true
	}
	return "", false
}

// isPlainShell reports whether a word is a shell, alone or in a common folder.
func isPlainShell(word string) bool {
	folder, name := path.Split(word)
	return slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/"}, folder) && slices.Contains([]string{"bash", "sh", "zsh", "dash"}, name)
}

// scriptProblem returns why shells may read a text differently, or "".
func scriptProblem(src string) string {
	switch {
	case len(src) > MaxScript:
		return fmt.Sprintf("The command is longer than %d KiB, the limit for parsing.", MaxScript>>10)
	case opened(src) > maxOpen:
		return "The command is nested too deeply to be parsed."
	case !utf8.ValidString(src):
		return "The command is not valid UTF-8."
	case strings.ContainsFunc(src, func(r rune) bool { return match.Hidden(r) || r == '\r' }):
		return "The command contains invisible characters."
	case strings.Contains(src, "\\\n") || strings.HasSuffix(src, `\`):
		return "The command has a line continued with a backslash, which shells read differently."
	}
	return ""
}

func opened(src string) int {
	return strings.Count(src, "(") + strings.Count(src, "{") + strings.Count(src, "`")
}

// finder finds the commands of one script and of the scripts in it.
type finder struct {
	table  *Programs
	script *Script
	budget int // bytes of scripts that are still parsed
}

// Unparsed is a script that is not parsed.
func Unparsed(why string) *Script {
	return &Script{Problem: why, NotSimple: why, Compound: why, NotPlain: why}
}

// parse reads a script by its syntax tree.
func (f *finder) parse(src string, depth int) *Script {
	budget := f.budget - len(src)
	f.budget = budget
	if len(src) > MaxScript || opened(src) > maxOpen || strings.Contains(src, unknown) {
		f.script = Unparsed(scriptProblem(src))
		return f.script
	}
	file := parsePlain(src)
	plain := file != nil
	if !plain {
		var err error
		if file, err = f.table.parseSource(src); err != nil {
			f.script = Unparsed("The command cannot be parsed as a shell script.")
			return f.script
		}
		src = joinLines(file, src)
	}
	w := &walk{in: f, file: file, src: src, depth: depth, follows: true, plain: plain}
	s := w.read()
	if unsure := w.failed || (w.sets && s.NotSimple != ""); unsure && !w.exceeds { // what it does not understand may set a variable
		f.budget = budget
		s = (&walk{in: f, file: file, src: src, depth: depth, noted: w.noted}).read()
	}
	f.script = s
	f.finish()
	return s
}

// joinLines replaces each backslash and line end by spaces if all shells continue the command on the next line: each
// backslash is after a space and outside of quotes and here-documents, and the script has no comment.
func joinLines(file *syntax.File, src string) string {
	const continued = "\\\n"
	if !strings.Contains(src, continued) {
		return src
	}
	at := placesOf(src, continued)
	if slices.ContainsFunc(at, func(i int) bool { return i == 0 || (src[i-1] != ' ' && src[i-1] != '\t') }) {
		return src
	}
	inText := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Comment:
			inText = true
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ParamExp:
			of := spanOf(n)
			inText = inText || slices.ContainsFunc(at, func(i int) bool { return of.from <= i && i < of.to })
		}
		return !inText
	})
	if inText {
		return src
	}
	return strings.ReplaceAll(src, continued, "  ")
}

// placesOf returns the offsets of a text in a source.
func placesOf(src, text string) (at []int) {
	for i := 0; ; i++ {
		next := strings.Index(src[i:], text)
		if next < 0 {
			return at
		}
		i += next
		at = append(at, i)
	}
}

// finish derives the texts and commands for patterns.
func (f *finder) finish() {
	s := f.script
	s.texts = slices.Compact(s.texts) // a plain command is its own source
	s.lower = make([]string, len(s.texts))
	for i, text := range s.texts {
		s.lower[i] = match.FoldCase(text)
	}
	s.All = make([]*Command, 0, len(s.Commands))
	for _, c := range s.Commands {
		s.All = c.appendAll(s.All)
	}
	s.size = s.measure()
	moves := 0
	for folder, i := "", 0; i < len(s.Commands); i++ {
		folder = s.Commands[i].changeFolder(folder, &moves)
	}
	if moves > maxFolders {
		s.Problem = "The command changes its folder too often to be judged."
		s.NotSimple, s.Compound, s.NotPlain = s.Problem, s.Problem, s.Problem
	}
}

// ToCover returns the commands that rules must cover to allow the script, in order. It reports false if these are not all
// that it runs, or there are none. whole: the script may be more than a list of commands, and those that are idle are left
// out.
func (s *Script) ToCover(whole bool) ([]*Command, bool) {
	if !whole {
		return s.Commands, s.Compound == "" && len(s.Commands) > 0
	}
	commands := s.Commands
	if slices.ContainsFunc(commands, func(c *Command) bool { return c.Idle }) {
		commands = slices.DeleteFunc(slices.Clone(commands), func(c *Command) bool { return c.Idle })
	}
	return commands, s.NotSimple == "" && len(commands) > 0
}

// IsList reports whether the script is a list of commands that do something.
func (s *Script) IsList() bool {
	return s.Compound == "" && !slices.ContainsFunc(s.Commands, func(c *Command) bool { return c.Idle })
}

// measure returns the [Script.Size].
func (s *Script) measure() int {
	const textBytes, loose = 8, 256 // a pattern looks at few bytes of a text, and at all of a loose text
	size := 1 + (len(s.texts)+len(s.All))/textBytes
	for _, text := range s.mentions {
		size += len(text) / loose
	}
	for _, c := range s.All {
		size += len(c.Words) / textBytes
		for _, text := range c.mentions {
			size += len(text) / loose
		}
	}
	return size
}

// maxFolders bounds how often a script changes its folder: each path that it writes is compared from each.
const maxFolders = 32

func (c *Command) staysInFolder() bool { return c.Words[0] != "cd" && c.Words[0] != "pushd" }

// changeFolder notes the folders of a command and the commands that it runs, and returns that of
// the next: it is unknown after too many changes, which moves counts.
func (c *Command) changeFolder(folder string, moves *int) string {
	c.Folder = folder
	inside := folder
	for _, one := range c.same {
		inside = one.changeFolder(inside, new(int))
	}
	next := folder
	for _, one := range c.inner {
		next = one.changeFolder(next, moves)
	}
	if c.staysInFolder() {
		return next
	}
	at := slices.IndexFunc(c.Words[1:], IsOperand)
	switch *moves++; {
	case *moves > maxFolders:
		return unknown
	case at >= 0:
		return match.JoinFolder(folder, c.Words[at+1])
	}
	return "~"
}

func (c *Command) appendAll(all []*Command) []*Command {
	all = append(all, c)
	for _, one := range c.inner {
		all = one.appendAll(all)
	}
	return all
}

func (c *Command) isWild(i int) bool { return c.wild != nil && c.wild[i] }

// follows reports whether word i has the value of a variable.
func (c *Command) follows(i int) bool { return c.seen != nil && c.seen[i] != "" }

// acts reports whether a command does more than change this shell.
func (c *Command) acts() bool { return !c.Idle }

// Instead returns commands that together do the same as a command: the one that it runs, if it
// changes only time and priority, or is a reader of listed files; or a cd to the folder of an option, and the command without
// options in front of its subcommand.
func (c *Command) Instead() []*Command {
	if c.data.listed || (c.kind.transparent && c.complete && len(c.inner) == 1) {
		return c.inner
	}
	return c.same
}

// Fed reports whether the command reads a file or a text by a redirection.
func (c *Command) Fed() bool { return c.data.fed }

// Inner returns the commands that the command runs, as far as they are known.
func (c *Command) Inner() []*Command { return c.inner }

// Piped reports whether the command reads what the command before it writes.
func (c *Command) Piped() bool { return c.data.piped }

// InputText returns what the command reads, if a here-document or here-string of the script has it, else "".
func (c *Command) InputText() string { return c.data.text }

// Sets returns the folders from which variables in front of the command have it load code.
func (c *Command) Sets() []string { return c.source.sets }

// setsAll notes the variables that are set for a command and those that it runs.
func (c *Command) setsAll(values []string) {
	c.source.sets = values
	for _, one := range slices.Concat(c.inner, c.same) {
		one.setsAll(values)
	}
}

// LeftOut returns the options, and their values, in front of the subcommand of the command in whose
// place it is.
func (c *Command) LeftOut() []string { return c.source.leftOut }

func (f *finder) findNested(c *Command, src string, depth int) {
	if len(src) > f.budget {
		c.opaque = true
		return
	}
	outer := f.script
	nested := f.parse(src, depth+1)
	f.script = outer
	c.opaque = c.opaque || nested.Problem != ""
	outer.mentions = append(outer.mentions, nested.mentions...)
	outer.opens, outer.writes = outer.opens || nested.opens, outer.writes || nested.writes
	for _, other := range nested.others {
		outer.others = append(outer.others, otherPart{len(outer.Commands) + 1, other.text})
	}
	c.inner = append(c.inner, nested.Commands...)
	outer.texts = append(outer.texts, nested.texts...)
}

// fed finds the script that a here-document gives to a shell.
func (f *finder) fed(c *Command, redirs []*syntax.Redirect, depth int) {
	for len(c.inner) == 1 {
		c = c.inner[0]
	}
	script := f.table.IsShell(c.Words[0]) && !c.complete && f.readsScript(c) && depth < maxThrough
	if c.kind.runsOthers && slices.ContainsFunc(redirs, givesInput) && f.passesOn(c) {
		c.data.runs = true
	}
	if !script {
		return
	}
	for _, r := range redirs {
		if r.Hdoc == nil {
			continue
		}
		if src := r.Hdoc.Lit(); src != "" && !strings.Contains(src, `\`) {
			f.findNested(c, src, depth)
		}
	}
}

// otherPart is a part of a script that reviewers are shown beside its commands: an assignment, or
// the redirection of a list.
type otherPart struct {
	before int // so many commands are in front of it
	text   string
}
