package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the scripts that are parsed: the parser is slow with deep nesting,
// and exhausts the stack with more of it.
const (
	maxScript = 8 << 10 // bytes
	maxOpen   = 256     // brackets and back quotes
)

// script is a shell command as far as it can be understood without running it.
type script struct {
	problem  string    // why it is not parsed, or what a shell may read differently; "" if neither
	notPlain string    // why it is more than plain words in a list, or ""
	commands []command // every simple command at any depth, in order
	texts    []string  // the source of every statement at any depth, and the words of every command
	lower    []string  // texts in lower case
}

// command is one simple command.
type command struct {
	words []string // quoting removed; unknown stands for what only a shell can tell
	text  string   // the words with a space between, in lower case
	opens []string // the words with a space between, a word that a shell may expand ending with unknown
	//               where it may; of a program with a folder a second time without that
	piped bool // reads what another command writes

	runs       bool // its program runs others: see runsOthers
	interprets bool // its program reads scripts: see isInterpreter
}

// unknown stands in a word for text that only the running shell knows. It is
// never in a script that is parsed.
const unknown = "\x00"

// parseScript reads a script and finds its commands.
func parseScript(src string) *script {
	s := &script{problem: scriptProblem(src)}
	if len(src) > maxScript || opened(src) > maxOpen || strings.Contains(src, unknown) {
		s.notPlain = s.problem
		return s
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(src), "")
	if err != nil {
		s.problem = "The command does not parse as a shell script."
		s.notPlain = s.problem
		return s
	}
	s.collect(file, src)
	s.notPlain = s.problem
	if s.notPlain == "" {
		s.notPlain = whyNotPlain(file)
	}
	return s
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
	case strings.ContainsFunc(src, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != '\n' }):
		return "The command holds characters that cannot be seen."
	case strings.Contains(src, "\\\n") || strings.HasSuffix(src, `\`):
		return "The command holds a line that a backslash continues, which shells read differently."
	}
	return ""
}

func opened(src string) int {
	return strings.Count(src, "(") + strings.Count(src, "{") + strings.Count(src, "`")
}

// collect finds the simple commands and the source of each statement.
func (s *script) collect(file *syntax.File, src string) {
	piped := map[*syntax.Stmt]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				piped[n.Y] = true
			}
		case *syntax.Stmt:
			start, end := int(n.Pos().Offset()), int(n.End().Offset())
			if start <= end && end <= len(src) {
				s.texts = append(s.texts, strings.TrimRight(src[start:end], "; \t\n&"))
			}
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				s.add(call, piped[n])
			}
		}
		return true
	})
	s.texts = slices.Compact(s.texts) // a plain command is its own source
	for _, text := range s.texts {
		s.lower = append(s.lower, strings.ToLower(text))
	}
}

// add notes a simple command.
func (s *script) add(call *syntax.CallExpr, piped bool) {
	c := command{piped: piped}
	open := make([]string, len(call.Args))
	for i, word := range call.Args {
		text, why := wordText(word)
		c.words = append(c.words, text)
		open[i] = text
		if why != "" {
			open[i] = openText(text)
		}
	}
	text := strings.Join(c.words, " ")
	c.text = strings.ToLower(text)
	c.runs, c.interprets = runsOthers(c.words[0]), isInterpreter(c.words[0])
	c.opens = []string{strings.Join(open, " ")}
	s.texts = append(s.texts, text)
	if i := strings.LastIndexByte(c.words[0], '/'); i >= 0 {
		name := c.words[0][i+1:]
		s.texts = append(s.texts, strings.Join(slices.Concat([]string{name}, c.words[1:]), " "))
		c.opens = append(c.opens, strings.Join(slices.Concat([]string{openText(name)}, open[1:]), " "))
	}
	s.commands = append(s.commands, c)
}

// openText is what of a word stands before anything that a shell may expand.
func openText(text string) string {
	if i := strings.IndexAny(text, unknown+"*?[{~"); i >= 0 {
		return text[:i] + unknown
	}
	return text
}

// whyNotPlain says what a script is more than simple commands of plain words
// joined by &&, ||, ;, | or new lines, or is "".
func whyNotPlain(file *syntax.File) string {
	if len(file.Stmts) == 0 {
		return "The script has no command."
	}
	if len(file.Last) > 0 {
		return "The script has a comment."
	}
	for _, stmt := range file.Stmts {
		if why := whyStmtNotPlain(stmt); why != "" {
			return why
		}
	}
	return ""
}

func whyStmtNotPlain(stmt *syntax.Stmt) string {
	switch {
	case len(stmt.Comments) > 0:
		return "The script has a comment."
	case stmt.Negated, stmt.Background, stmt.Coprocess, stmt.Disown:
		return "The script negates a command or leaves it running."
	case len(stmt.Redirs) > 0:
		return "The script redirects input or output."
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && cmd.Op != syntax.Pipe {
			return "The script joins commands by " + cmd.Op.String() + "."
		}
		if why := whyStmtNotPlain(cmd.X); why != "" {
			return why
		}
		return whyStmtNotPlain(cmd.Y)
	case *syntax.CallExpr:
		return whyCallNotPlain(cmd)
	default:
		return "The script is more than simple commands."
	}
}

func whyCallNotPlain(call *syntax.CallExpr) string {
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return "The script sets a variable."
	}
	for _, word := range call.Args {
		if _, why := wordText(word); why != "" {
			return why
		}
	}
	return ""
}
