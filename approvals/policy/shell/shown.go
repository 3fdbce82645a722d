package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// commandSource is where in a script a command is.
type commandSource struct {
	stmt    *syntax.Stmt // the statement of the command, nil for none
	script  string       // that the statement is in
	literal string       // all of it, if its words are separated by one space and all shells read them literally; or ""
	expands string       // source of the first word that a shell expands, where it is known; or ""
	leftOut []string     // the words of the command that it replaces and does not have
	sets    []string     // values of variables in front of it: see Sets
}

// noteOther notes a statement that is no simple command and has an effect of its own.
func (s *Script) noteOther(n *syntax.Stmt, src string) {
	part := otherPart{before: len(s.Commands)}
	switch cmd := n.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		part.text = strings.TrimSpace(assignments(cmd, src))
	case *syntax.DeclClause:
		part.text = sourceOf(cmd, src)
	default:
		if !slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool { return !harmlessRedirect(r) }) {
			return
		}
		part.text = "{ … }"
	}
	if part.text += redirections(n.Redirs, src); part.text != "" {
		part.text = strings.TrimSpace(part.text)
		s.others = append(s.others, part)
	}
}

// AppendShown adds the commands of a script, the commands that they run, and the other parts, in order.
func (s *Script) AppendShown(all []string) []string {
	others := s.others
	for i, c := range s.Commands {
		for ; len(others) > 0 && others[0].before <= i; others = others[1:] {
			all = append(all, others[0].text)
		}
		all = shown(all, c.appendAll(nil))
	}
	for _, other := range others {
		all = append(all, other.text)
	}
	return all
}

// shown appends commands as they are shown. A redirection is shown with its command.
func shown(texts []string, commands []*Command) []string {
	for _, c := range commands {
		if !c.Redirect && !c.Other {
			texts = append(texts, c.shown())
		}
	}
	return texts
}

// shown returns a command with its variables, redirections and here-documents.
func (c *Command) shown() string {
	if c.source.stmt == nil {
		return c.Display()
	}
	call, ok := c.source.stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return c.Display()
	}
	return assignments(call, c.source.script) + c.Display() + redirections(c.source.stmt.Redirs, c.source.script)
}

func assignments(call *syntax.CallExpr, src string) string {
	var b strings.Builder
	for _, a := range call.Assigns {
		b.WriteString(sourceOf(a, src) + " ")
	}
	return b.String()
}

// redirections returns those of a statement, each after a space, and then its here-documents.
func redirections(redirs []*syntax.Redirect, src string) string {
	var line, documents strings.Builder
	for _, r := range redirs {
		line.WriteByte(' ')
		if r.N != nil {
			line.WriteString(r.N.Value)
		}
		line.WriteString(r.Op.String())
		if r.Word != nil {
			if !slices.Contains([]syntax.RedirOperator{syntax.DplIn, syntax.DplOut}, r.Op) {
				line.WriteByte(' ')
			}
			line.WriteString(sourceOf(r.Word, src))
		}
		if r.Hdoc != nil {
			documents.WriteString("\n" + sourceOf(r.Hdoc, src)) // with the line that ends it
		}
	}
	return line.String() + documents.String()
}

func sourceOf(n syntax.Node, src string) string { return spanOf(n).in(src) }

// Display is a command as one would write it.
func (c *Command) Display() string {
	if c.source.literal != "" {
		return c.source.literal
	}
	words := make([]string, len(c.Words))
	for i := range words {
		words[i] = c.Word(i)
	}
	if c.Redirect {
		return words[0] + " " + QuoteWords(words[1:])
	}
	return QuoteWords(words)
}

// Word returns word i of the command for people, without quotes and with … for text that only a shell knows.
func (c *Command) Word(i int) string {
	word := c.Words[i]
	if c.follows(i) {
		word = c.seen[i]
	}
	return strings.ReplaceAll(word, unknown, "…")
}

// QuoteWords spells a command so that it parses to the same words.
func QuoteWords(words []string) string {
	quotes := func(w string) bool { return w == "" || !isPlain(w, true) }
	if !slices.ContainsFunc(words, quotes) {
		return strings.Join(words, " ")
	}
	quoted := slices.Clone(words)
	for i, w := range words {
		if quotes(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
