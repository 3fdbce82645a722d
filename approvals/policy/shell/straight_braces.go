package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readings makes two commands of one with lists in braces: bash and zsh read several words, dash reads the text. Edits
// are those of the command's words.
func (s *straightener) readings(stmt *syntax.Stmt, call *syntax.CallExpr, edits []edit) []edit {
	var words, texts []edit
	for _, w := range call.Args[1:] {
		if all := listed(w); len(all) > 0 {
			words = append(words, edit{spanOf(w), strings.Join(all, " ")})
			texts = append(texts, edit{spanOf(w), strings.NewReplacer("{", `\{`, "}", `\}`).Replace(w.Lit())})
		}
	}
	if len(words) == 0 || changesFolder([]*syntax.Stmt{stmt}) {
		return edits
	}
	in := spanOf(call)
	return []edit{{in, "{ " + s.apply(in, slices.Concat(edits, words)) + "\n" + s.apply(in, slices.Concat(edits, texts)) + "\n}"}}
}

// listed returns the words that a word with lists in braces means for bash, nil for other words. Not all shells with
// lists know sequences.
func listed(w *syntax.Word) []string {
	if text := w.Lit(); !strings.Contains(text, "{") || sequence.MatchString(text) {
		return nil
	}
	var texts []string
	for _, meant := range appendWords(nil, w) {
		if !plainOperand.MatchString(meant.Text) {
			return nil
		}
		texts = append(texts, meant.Text)
	}
	return texts
}

var (
	// sequence matches braces such as {1..3}.
	sequence = regexp.MustCompile(`\{[^{},]*\.\.[^{},]*\}`)
	// plainOperand matches a name, a pattern of names or an option, which is no syntax of a shell.
	plainOperand = regexp.MustCompile(`^(--[a-z-]+=)?[-_./*?@+0-9A-Za-z]+$`)
)
