package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A redirection to or from a file is one more command of a script, of two words: ">" and the path
// that is written to, ">>" where it is appended to, or "<" and the path that is read. Input and
// output that is only joined or discarded is none.

const (
	notPlainDocument = "The script has a here-document."
	notPlainRedirect = "The script redirects input or output."
	notPlainWord     = "The script has a word that a shell expands."
)

// redirectWords are the operators of redirections of files, by what they do.
var redirectWords = map[syntax.RedirOperator]string{
	syntax.RdrOut: ">", syntax.RdrClob: ">", syntax.RdrAll: ">", syntax.RdrAllClob: ">", syntax.DplOut: ">", syntax.RdrInOut: ">",
	syntax.AppOut: ">>", syntax.AppClob: ">>", syntax.AppAll: ">>", syntax.AppAllClob: ">>",
	syntax.RdrIn: "<",
}

// redirect adds a redirection, to a word as the script has it, as a command of the script.
func (f *finder) redirect(r *syntax.Redirect, written *syntax.Word, src string) {
	operator := redirectWords[r.Op]
	if operator == "" || r.Word == nil || harmlessRedirect(r) {
		return
	}
	to := wordOf(r.Word)
	if written != r.Word {
		to.Open, to.Shown = wordOf(written).Open, to.Text
	}
	if r.Op == syntax.DplOut && to.certain() && strings.Trim(to.Text, "0123456789-") == "" {
		return // another descriptor
	}
	c := &Command{Redirect: true, Words: []string{operator, to.Text}, mayStar: []bool{true, namesFile(to.Text)}, complete: true}
	if to.Wild {
		c.wild = []bool{false, true}
	}
	if to.Shown != "" {
		c.seen = []string{"", to.Shown}
	}
	if start, end := int(written.Pos().Offset()), int(written.End().Offset()); !to.certain() && start < end && end <= len(src) {
		c.source.expands = src[start:end]
	}
	texts, open := []string{operator + " " + to.Text}, to.Open
	if operator == ">>" {
		texts = append(texts, "> "+to.Text)
		c.opens[1] = "> " + open
	}
	if clean := path.Clean(to.Text); clean != to.Text {
		texts = append(texts, strings.TrimSuffix(operator, ">>")+"> "+clean)
	}
	c.opens[0] = operator + " " + open
	f.script.texts = append(f.script.texts, texts...)
	f.script.Commands = append(f.script.Commands, c)
	f.script.NotPlain = notPlainRedirect
}

// namesFile reports whether a path is one that a * may match: no device, which may be a network
// connection, and nothing of a process.
func namesFile(text string) bool {
	clean := path.Clean(text)
	return !isOption(text) && !strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/proc/")
}

// harmlessRedirect reports whether a redirection only joins or discards output.
func harmlessRedirect(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil || !isStandard(r.N, "1", "2") {
		return false
	}
	switch to := r.Word.Lit(); r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null"
	case syntax.RdrIn:
		return to == "/dev/null" && r.N == nil
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// plainRedirect reports whether a redirection is of a file that is known.
func plainRedirect(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		if !isStandard(r.N, "1", "2") {
			return false
		}
	case syntax.RdrIn:
		if r.N != nil {
			return false
		}
	default:
		return false
	}
	to := wordOf(r.Word)
	numbers := r.Op == syntax.RdrIn && strings.Contains(to.Text, "-") && strings.Trim(to.Text, "0123456789-") == "" // a<1-9>b is a glob of zsh
	return to.Why == "" && !to.Wild && to.Text != "" && !numbers
}

func isStandard(n *syntax.Lit, numbers ...string) bool {
	return n == nil || slices.Contains(numbers, n.Value)
}

// coversRedirect reports whether the pattern covers a redirection. A path in a folder depends on
// where a cd has led.
func (p *AllowPattern) coversRedirect(c *Command) bool {
	if !p.redirect || !p.fitsLength(len(c.Words)) || (p.operator() != c.Words[0] && (p.operator() != ">" || c.Words[0] != ">>")) {
		return false
	}
	if p.rest {
		return c.mayStar[1]
	}
	moved := c.Folder != "" && !strings.HasPrefix(c.Words[1], "/")
	return !moved && p.coversWord(1, c.Words[1], c.mayStar[1], c.isWild(1))
}

// operator is the first word of a pattern of redirections.
func (p *AllowPattern) operator() string { return p.words[0].Prefix() }

// redirectOf is the redirection that is all of a pattern, or nil.
func redirectOf(stmt *syntax.Stmt) *syntax.Redirect {
	if stmt.Cmd != nil || len(stmt.Redirs) != 1 {
		return nil
	}
	r := stmt.Redirs[0]
	if !slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrIn}, r.Op) || r.N != nil || r.Word == nil {
		return nil
	}
	return r
}
