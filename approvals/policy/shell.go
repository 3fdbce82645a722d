package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the scripts that are parsed: the parser is slow with deep nesting,
// and exhausts the stack with more of it.
const (
	maxScript  = 8 << 10 // bytes
	maxOpen    = 256     // brackets and back quotes
	maxThrough = 8       // programs that run programs, in each other
)

// script is a shell command as far as it can be understood without running it.
type script struct {
	problem  string   // why it is not parsed, or what a shell may read differently; "" if neither
	notPlain string   // why it is more than plain words in a list, or ""
	within   []string // parts in which it may name a command that it runs, beside those of its commands
	others   []otherPart
	writes   bool       // it redirects output to a file
	opens    bool       // it quotes a substitution, or sets a variable to what is not known
	commands []*command // the simple commands, in order
	all      []*command // and those that they run, at any depth
	texts    []string   // the source of every statement at any depth, and the words of every command
	lower    []string   // texts in lower case
}

// command is one simple command.
type command struct {
	words []string // quoting removed; unknown stands for what only a shell can tell
	wild  []bool   // which words have a * or ? that a shell expands; nil: none
	text  string   // the words with a space between, in lower case
	opens []string // the words with a space between, a word that a shell may expand ending with unknown
	//               where it may; of a program with a folder a second time without that
	piped bool         // reads what another command writes
	stmt  *syntax.Stmt // of which it is, or nil
	src   string       // that the statement is in

	folder     string     // that cd has changed to before it, as far as is known; or ""
	inner      []*command // what it runs
	seen       bool       // inner is all that it runs: nothing, where that is empty
	hides      bool       // it may run anything
	runs       bool       // its program runs others: see runsOthers
	interprets bool       // its program reads scripts: see isInterpreter
	reads      bool       // it runs what it reads
	within     []string   // loose texts in which it may name another command: see appendLoose
	plain      bool       // its program only changes time and priority of what it runs
	expands    string     // source of the first word that a shell expands, where it is known; or ""
	star       []bool     // for which words a * may stand: operands, and options that are known
}

// parseScript reads a script and finds its commands.
func (t *programs) parseScript(src string) *script {
	f := &finder{programs: t, budget: 2 * maxScript}
	return f.parse(src, 0)
}

// parseArgv takes the words of a command that no shell reads, or the script that
// they hand to one, as in bash -lc SCRIPT.
func (t *programs) parseArgv(argv []string) *script {
	if script, ok := shellCall(argv); ok {
		return t.parseScript(script)
	}
	s := &script{}
	total := 0
	words := make([]word, len(argv))
	for i, text := range argv {
		total += len(text)
		words[i] = word{text: text, open: text}
	}
	switch all := strings.Join(argv, " "); {
	case len(argv) == 0 || argv[0] == "":
		s.problem = "The command names no program."
	case total > 4*maxScript:
		s.problem = fmt.Sprintf("The command is longer than the %d KiB that are judged.", 4*maxScript>>10)
	case strings.Contains(all, unknown):
		s.problem = "The command holds a NUL character."
	case !utf8.ValidString(all):
		s.problem = "The command is not valid UTF-8."
	}
	if s.notPlain = s.problem; s.problem != "" {
		return s
	}
	f := &finder{programs: t, script: s, budget: 2 * maxScript}
	s.commands = []*command{f.command(words, false, 0)}
	if slices.ContainsFunc(argv, func(text string) bool { return text == "" || !plainLiteral(text, true) }) {
		f.joined(strings.Join(argv, " "))
	}
	f.finish()
	return s
}

// joined adds what an agent would run that hands the words to a shell with spaces
// between them.
func (f *finder) joined(src string) {
	s, c := f.script, f.script.commands[0]
	if len(src) > f.budget {
		c.hides = true
		return
	}
	read := f.parse(src, 0)
	f.script = s
	s.notPlain = read.notPlain
	c.hides = c.hides || read.problem != ""
	s.commands = append(s.commands, read.commands...)
	s.texts = append(s.texts, read.texts...)
	s.within = append(s.within, read.within...)
	s.others = append(s.others, read.others...)
}

// shellCall is the script in the words bash -lc SCRIPT.
func shellCall(argv []string) (script string, ok bool) {
	if len(argv) == 3 && isPlainShell(argv[0]) && (argv[1] == "-c" || argv[1] == "-lc") {
		return argv[2], true
	}
	return "", false
}

// isPlainShell reports whether a word is a shell by its name alone or in one of
// the folders where they are.
func isPlainShell(word string) bool {
	for _, folder := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
		if name, ok := strings.CutPrefix(word, folder); ok {
			word = name
			break
		}
	}
	return slices.Contains([]string{"bash", "sh", "zsh", "dash"}, word)
}

// scriptProblem says why shells and the parser may read a text differently, or
// is "".
func scriptProblem(src string) string {
	switch {
	case len(src) > maxScript:
		return fmt.Sprintf("The command is longer than the %d KiB that are parsed.", maxScript>>10)
	case opened(src) > maxOpen:
		return "The command is nested too deeply to be parsed."
	case !utf8.ValidString(src):
		return "The command is not valid UTF-8."
	case strings.ContainsFunc(src, func(r rune) bool { return hidden(r) || r == '\r' }):
		return "The command holds characters that cannot be seen."
	case strings.Contains(src, "\\\n") || strings.HasSuffix(src, `\`):
		return "The command holds a line that a backslash continues, which shells read differently."
	}
	return ""
}

func opened(src string) int {
	return strings.Count(src, "(") + strings.Count(src, "{") + strings.Count(src, "`")
}

// finder finds the commands of one script and of the scripts in it.
type finder struct {
	*programs
	script *script
	budget int // bytes of scripts that are still parsed
}

func (f *finder) parse(src string, depth int) *script {
	s := &script{problem: scriptProblem(src), texts: make([]string, 0, 8)}
	f.script = s
	f.budget -= len(src)
	if len(src) > maxScript || opened(src) > maxOpen || strings.Contains(src, unknown) {
		s.notPlain = s.problem
		return s
	}
	parser := f.parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(src), "")
	f.parsers.Put(parser)
	if err != nil {
		s.problem = "The command does not parse as a shell script."
		s.notPlain = s.problem
		return s
	}
	f.walk(file, src, depth)
	if s.notPlain = s.problem; s.notPlain == "" {
		s.notPlain = f.whyNotPlain(file)
	}
	f.finish()
	return s
}

// finish derives what patterns are compared with.
func (f *finder) finish() {
	s := f.script
	s.texts = slices.Compact(s.texts) // a plain command is its own source
	s.lower = make([]string, len(s.texts))
	for i, text := range s.texts {
		s.lower[i] = foldCase(text)
	}
	folder := ""
	for _, c := range s.commands {
		folder = c.from(folder)
		s.all = c.appendAll(s.all)
	}
}

// from notes the folder in which a command and what it runs begin, and returns that of
// the next command.
func (c *command) from(folder string) string {
	c.folder = folder
	next := folder
	for _, one := range c.inner {
		next = one.from(next)
	}
	if c.words[0] != "cd" && c.words[0] != "pushd" {
		return next
	}
	if at := slices.IndexFunc(c.words[1:], isOperand); at >= 0 {
		return within(folder, c.words[at+1])
	}
	return "~"
}

func (c *command) appendAll(all []*command) []*command {
	all = append(all, c)
	for _, one := range c.inner {
		all = one.appendAll(all)
	}
	return all
}

func callWords(call *syntax.CallExpr) []word {
	words := make([]word, 0, len(call.Args))
	for _, w := range call.Args {
		words = appendWords(words, w)
	}
	return words
}

// command makes a command of its words and finds what it runs.
func (f *finder) command(words []word, piped bool, depth int) *command {
	c := &command{piped: piped, words: make([]string, len(words))}
	for i, one := range words {
		c.words[i] = one.text
		if one.wild {
			if c.wild == nil {
				c.wild = make([]bool, len(words))
			}
			c.wild[i] = true
		}
	}
	text := strings.Join(c.words, " ")
	c.text = foldCase(text)
	c.opens = []string{text}
	if slices.ContainsFunc(words, func(w word) bool { return !w.certain() }) {
		open := make([]string, len(words))
		for i, one := range words {
			open[i] = one.open
		}
		c.opens[0] = strings.Join(open, " ")
	}
	f.script.texts = append(f.script.texts, text)
	if i := strings.LastIndexByte(c.words[0], '/'); i >= 0 {
		f.script.texts = append(f.script.texts, text[i+1:])
		if j := strings.LastIndexByte(words[0].open, '/'); j >= 0 {
			c.opens = append(c.opens, c.opens[0][j+1:])
		}
	}
	c.star = f.starMay(c.words, c.wild)
	c.runs, c.interprets = f.runsOthers(c.words[0]), f.isInterpreter(c.words[0])
	c.seen = f.harmless(c)
	if c.runs {
		f.through(c, words, depth)
		c.reads = f.readsScript(c)
	}
	if !c.seen && len(words) > 1 {
		c.findWithin()
	}
	return c
}

// through finds what a program runs that runs others.
func (f *finder) through(c *command, words []word, depth int) {
	if w := f.wrapper(c.words[0]); w != nil {
		c.plain = w.plain && !strings.Contains(c.words[0], "/")
	}
	found := f.look(words)
	if depth == maxThrough {
		c.hides = true
		return
	}
	c.hides = found.hides
	c.seen = c.seen || found.certain
	f.assigned(c, found.own)
	for _, inner := range found.commands {
		c.inner = append(c.inner, f.command(inner, c.piped, depth+1))
	}
	for _, src := range found.scripts {
		f.within(c, src, depth)
	}
}

// harmless reports whether the table lists all that a command's words are, so
// that they run nothing.
func (f *finder) harmless(c *command) bool {
	return f.listed(c.words[0]) && !slices.Contains(c.star[1:], false)
}

// within finds the commands of a script that a command runs.
func (f *finder) within(c *command, src string, depth int) {
	if len(src) > f.budget {
		c.hides = true
		return
	}
	outer := f.script
	nested := f.parse(src, depth+1)
	f.script = outer
	c.hides = c.hides || nested.problem != ""
	outer.within = append(outer.within, nested.within...)
	outer.opens, outer.writes = outer.opens || nested.opens, outer.writes || nested.writes
	outer.others = append(outer.others, nested.othersWithin()...)
	c.inner = append(c.inner, nested.commands...)
	outer.texts = append(outer.texts, nested.texts...)
}

// fed finds the script that a here-document gives to a shell.
func (f *finder) fed(c *command, redirs []*syntax.Redirect, depth int) {
	for len(c.inner) == 1 {
		c = c.inner[0]
	}
	script := f.isShell(c.words[0]) && !c.seen && f.readsScript(c) && depth < maxThrough
	if c.runs && slices.ContainsFunc(redirs, givesInput) && f.passesOn(c) {
		c.reads = true
	}
	if !script {
		return
	}
	for _, r := range redirs {
		if r.Hdoc == nil {
			continue
		}
		if src := r.Hdoc.Lit(); src != "" && !strings.Contains(src, `\`) {
			f.within(c, src, depth)
		}
	}
}
