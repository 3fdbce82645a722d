package shell

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

const notPlainSet = "The script sets a variable."

// call reads a simple command. It returns why that is not simple, or "".
func (w *walk) call(n *syntax.Stmt, call *syntax.CallExpr, in around) (why string) {
	read := w.words(n, call, in.known)
	if len(read.words) > 0 {
		w.add(read.words, n, call, in)
	} else {
		w.in.script.noteOther(n, w.src)
	}
	last := len(w.in.script.Commands) - 1
	if read.texts != nil { // dash reads lists in braces as their text
		w.add(read.texts, n, call, in)
		for _, one := range w.in.script.Commands[last+1].appendAll(nil) {
			one.Other = true
		}
	}
	if !w.plain {
		w.inside(&syntax.CallExpr{Assigns: call.Assigns, Args: read.meant}, in.part())
	}
	if len(read.words) == 0 {
		return w.assignments(call, in)
	}
	variables := &w.in.table.Variables
	if slices.ContainsFunc(call.Assigns, func(a *syntax.Assign) bool { return !setsOnlyLook(variables, a) && !setsSearchPath(variables, a) }) {
		why = w.refuse(notPlainSet)
	}
	w.leaves = in.alone && w.follows && len(call.Assigns) == 0 && runsNothing(call.Args)
	w.in.script.Commands[last].Idle = w.leaves
	if w.leaves {
		for _, arg := range call.Args {
			w.compound(wordOf(arg).Why)
		}
		return ""
	}
	return cmp.Or(why, w.whyWords(read, in.known))
}

// assignments reads a statement that only sets variables.
func (w *walk) assignments(call *syntax.CallExpr, in around) string {
	if len(call.Args) == 0 && in.alone && in.always && w.follows && w.assigns(call.Assigns, in.known) {
		w.compound(notPlainSet)
		w.leaves = true
		return ""
	}
	return w.refuse(notPlainSet)
}

// add adds a command of some words, and what reading it shows.
func (w *walk) add(words []word, n *syntax.Stmt, call *syntax.CallExpr, in around) {
	s := w.in.script
	if w.repeats > 0 {
		at := spanOf(call)
		w.size += max(at.to-at.from, 0)
	}
	c := w.in.command(words, in.piped, w.depth)
	if in.fed {
		c.isFed()
	}
	c.data.feeds = in.feeds
	c.reads(inputText(n.Redirs))
	c.source = commandSource{stmt: n, script: w.src, expands: expands(call, w.src)}
	if w.plain && !slices.ContainsFunc(words, func(one word) bool { return one.Why != "" || one.Wild }) {
		c.source.literal = sourceOf(call, w.src)
	}
	if sets := searchPaths(&w.in.table.Variables, call); len(sets) > 0 {
		c.setsAll(sets)
		s.NotPlain = notPlainSet
	}
	w.in.fed(c, n.Redirs, w.depth)
	s.Commands = append(s.Commands, c)
	if c.executes() {
		w.spans = append(w.spans, in.input...)
	}
}

// reads notes the text that a command, and those that it runs, read.
func (c *Command) reads(text string) {
	c.data.text = text
	for _, one := range slices.Concat(c.inner, c.same) {
		one.reads(text)
	}
}

// isFed notes that a command, and those that it runs, read a redirection.
func (c *Command) isFed() {
	c.data.fed = true
	for _, one := range slices.Concat(c.inner, c.same) {
		one.isFed()
	}
}

// readWords is the words of a simple command.
type readWords struct {
	program string         // if it is literal
	meant   []*syntax.Word // with the values of variables
	plain   []*syntax.Word // those that must be plain words
	words   []word
	texts   []word // with lists in braces as their text; nil: there are none
}

// words reads the words of a simple command, with the values of variables in place of these.
func (w *walk) words(n *syntax.Stmt, call *syntax.CallExpr, known scope) (read readWords) {
	if len(call.Args) == 0 {
		return read
	}
	read.program = call.Args[0].Lit()
	read.words = make([]word, 0, len(call.Args))
	if w.plain {
		for _, arg := range call.Args {
			read.words = append(read.words, wordOf(arg))
		}
		read.meant, read.plain = call.Args, call.Args
		return read
	}
	follows := w.follows && slices.ContainsFunc(call.Args, func(arg *syntax.Word) bool { return lists(arg) > 0 }) && !w.changesFolder([]*syntax.Stmt{n})
	for i, arg := range call.Args {
		if follows && i > 0 {
			if listed := listedIn(arg); len(listed) > 0 {
				w.compound(whyBraces)
				read.addListed(arg, listed)
				continue
			}
		}
		w.addWord(&read, i, arg, known)
	}
	return read
}

// addListed adds a word with lists in braces: the words that it means, and its text.
func (r *readWords) addListed(arg *syntax.Word, listed []*syntax.Word) {
	text := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strings.NewReplacer("{", `\{`, "}", `\}`).Replace(arg.Lit())}}}
	if r.texts == nil {
		r.texts = slices.Clone(r.words)
	}
	r.meant, r.plain = append(r.meant, arg), append(append(r.plain, listed...), text)
	r.words, r.texts = appendWords(r.words, arg), append(r.texts, wordOf(text))
}

// addWord adds word i of a command, with the values of variables.
func (w *walk) addWord(read *readWords, i int, arg *syntax.Word, known scope) {
	meant, plain := arg, arg
	if i > 0 && w.follows {
		shown := read.program == "echo" || (read.program == "printf" && i > 1)
		meant = w.resolved(arg, known, shown)
		if plain = meant; shown {
			plain = w.withoutShown(meant, known)
		}
	}
	before := len(read.words)
	read.words = appendWords(read.words, meant)
	added := read.words[before:]
	if plain != arg {
		w.compound(whyExpands)
		followed(added, plain, arg)
	}
	if i > 0 && w.readsFile(read.program, meant) {
		w.compound(whyExpands)
		added[0] = word{Text: "-", Open: unknown, Shown: unknown}
	}
	read.meant, read.plain = append(read.meant, meant), append(read.plain, plain)
	if read.texts != nil {
		read.texts = append(read.texts, added...)
	}
}

// whyWords returns why words of a command are not simple, or "".
func (w *walk) whyWords(read readWords, known scope) (why string) {
	for _, arg := range read.plain {
		one := wordOf(arg)
		switch {
		case w.readsFile(read.program, arg) && arg != read.meant[0]:
			why = cmp.Or(why, w.outputs[arg.Parts[0]].why)
		case one.Why != "" && !w.substitutes(read.program, arg, known):
			why = cmp.Or(why, w.refuse(one.Why))
		case one.Sign && !w.in.table.TakesScript(read.program):
			why = cmp.Or(why, w.refuse(quotesSign))
		}
	}
	return why
}

// followed gives the words of one, as it is written, the texts in which variables have their values. What people see is as
// it is meant. Rules that deny or ask match these texts, and also whatever the word may be as it is written.
func followed(words []word, plain, written *syntax.Word) {
	texts, open := appendWords(nil, plain), appendWords(nil, written)
	for i := range words[:min(len(words), len(texts))] {
		words[i].Text, words[i].Shown = texts[i].Text, words[i].Text
		if words[i].Open = unknown; len(open) == len(words) {
			words[i].Open = open[i].Open
		}
	}
}

// filesOnly are programs whose operands are files, or - for standard input.
var filesOnly = []string{"cat", "comm", "diff", "head", "paste", "sort", "tail", "wc"}

// readsFile reports whether a word is <(...), which the program reads as a file.
func (w *walk) readsFile(program string, arg *syntax.Word) bool {
	if len(arg.Parts) != 1 || !slices.Contains(filesOnly, program) || !w.follows {
		return false
	}
	p, ok := arg.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn && len(p.Stmts) > 0
}

// listedIn returns the words that a word with lists in braces means for bash, nil for other words. Not all shells with
// lists know sequences.
func listedIn(w *syntax.Word) (words []*syntax.Word) {
	if text := w.Lit(); !strings.Contains(text, "{") || sequence.MatchString(text) {
		return nil
	}
	for _, meant := range appendWords(nil, w) {
		if !plainOperand.MatchString(meant.Text) {
			return nil
		}
		words = append(words, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: meant.Text}}})
	}
	return words
}

var (
	// sequence matches braces such as {1..3}.
	sequence = regexp.MustCompile(`\{[^{},]*\.\.[^{},]*\}`)
	// plainOperand matches a name, a pattern of names or an option, which is no syntax of a shell.
	plainOperand = regexp.MustCompile(`^(--[a-z-]+=)?[-_./*?@+0-9A-Za-z]+$`)
)

// idle are the builtins that only end a script or loop, wait, or decide what the shell does at errors, if their words are
// of that kind.
var idle = map[string]func(words []string) bool{
	"set": setsErrors, "exit": mayBeNumber, "break": mayBeNumber, "continue": mayBeNumber,
	"wait": func(words []string) bool { return len(words) == 0 },
}

// runsNothing reports whether a command is one of the builtins that are idle.
func runsNothing(words []*syntax.Word) bool {
	is := idle[words[0].Lit()]
	return is != nil && is(literals(words[1:]))
}

// setsErrors reports whether the words after set only decide what the shell does at errors, or have it print its commands.
func setsErrors(words []string) bool {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if len(word) < 2 || (word[0] != '-' && word[0] != '+') || strings.Trim(word[1:], "euxo") != "" {
			return false
		}
		for range strings.Count(word, "o") {
			if i++; i == len(words) || !slices.Contains([]string{"errexit", "nounset", "pipefail", "xtrace"}, words[i]) {
				return false
			}
		}
	}
	return len(words) > 0
}

// mayBeNumber reports whether words are none, or a number or the status of the last command.
func mayBeNumber(words []string) bool {
	return len(words) == 0 || (len(words) == 1 && (words[0] == status || (words[0] != "" && strings.Trim(words[0], "0123456789") == "")))
}

// status is the word $?.
const status = "$?"

// literals returns the words that are literal text without quotes, $? as it is, and "" for others.
func literals(words []*syntax.Word) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Lit()
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok && len(w.Parts) == 1 && plainName(p) == "?" {
			texts[i] = status
		}
	}
	return texts
}

// searchPaths returns the values of the variables in front of a command that name folders of code.
func searchPaths(known *programs.Variables, call *syntax.CallExpr) []string {
	var found []string
	for _, a := range call.Assigns {
		if setsSearchPath(known, a) {
			found = append(found, strings.Split(wordOf(a.Value).Text, ":")...)
		}
	}
	return found
}

// setsSearchPath reports whether an assignment is of known folders from which a program loads code.
func setsSearchPath(known *programs.Variables, a *syntax.Assign) bool {
	if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil || a.Value == nil || !known.SearchPath(a.Name.Value) {
		return false
	}
	one := wordOf(a.Value)
	return one.Why == "" && one.certain() && one.Text != ""
}

// plainPattern matches a value of a variable with stars, such as that of DEBUG.
var plainPattern = regexp.MustCompile(`^[\w:*,.-]+$`)

// setsOnlyLook reports whether an assignment changes only how programs show what they do, or nothing of what they run.
func setsOnlyLook(known *programs.Variables, a *syntax.Assign) bool {
	if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil {
		return false
	}
	if a.Value == nil {
		return known.OnlyLook(a.Name.Value)
	}
	if plainPattern.MatchString(a.Value.Lit()) { // no shell expands it here
		return known.Sets(a.Name.Value, a.Value.Lit())
	}
	one := wordOf(a.Value)
	return one.Why == "" && one.certain() && known.Sets(a.Name.Value, one.Text)
}
