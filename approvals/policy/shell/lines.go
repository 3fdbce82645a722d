package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// joinLines replaces each backslash and line end by spaces if all shells continue the command on the next line: each
// backslash is after a space and outside of quotes and here-documents, and the script has no comment.
func (t *Programs) joinLines(src string) string {
	const continued = "\\\n"
	if !strings.Contains(src, continued) || len(src) > MaxScript || opened(src) > maxOpen || strings.Contains(src, unknown) {
		return src
	}
	at := placesOf(src, continued)
	if slices.ContainsFunc(at, func(i int) bool { return i == 0 || (src[i-1] != ' ' && src[i-1] != '\t') }) {
		return src
	}
	file, err := t.parseSource(src)
	if err != nil {
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
