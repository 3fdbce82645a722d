package rule

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// OnlyOwnTexts reports whether a call that a pattern for a whole program (shell(curl:*), shell(gh *)) matches shows no text that
// others can write: all commands of the program are known to ask only a server on this machine, or to show only states and
// numbers of a code host.
func (p *Pattern) OnlyOwnTexts(c *call.Reading) bool {
	program := p.wholeProgram()
	switch {
	case c.Kind != call.Shell || program == "":
		return false
	case len(c.Doubts) > 0, c.Ambiguity != "", c.Partial != "", c.AnyScript(func(s *shell.Script) bool { return s.NotSimple != "" }):
		return false
	}
	found := false
	for _, e := range c.Executions() {
		words := e.Use.Words
		switch isOf := len(words) > 0 && words[0].Text == program; {
		case e.Command.Redirect:
		case len(words) == 0, (e.Command.Fed() && e.Use.Class == ""), slices.ContainsFunc(words, func(w shell.Word) bool { return !w.Known }):
			return false
		case isOf && c.Known.Programs.ShowsOwnTexts(&e.Use):
			found = true
		case isOf, strings.Contains(strings.Join(e.Command.Words, " "), program): // it may start the program
			return false
		}
	}
	return found
}

// wholeProgram returns the program of a pattern that covers any words after it, or "".
func (p *Pattern) wholeProgram() string {
	_, argument, _ := strings.Cut(strings.TrimSuffix(p.Text, ")"), "(")
	for _, end := range []string{":*", " *", " **"} {
		if program, ok := strings.CutSuffix(argument, end); ok && !strings.ContainsAny(program, "* ") {
			return program
		}
	}
	return ""
}
