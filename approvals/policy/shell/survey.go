package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// survey is what the walk needs to know of the whole script, or of what is in front of it. It is made once, where it is
// needed at all.
type survey struct {
	comments        []*syntax.Comment
	words           []*syntax.Word
	folders         []folderChange
	changesVariable bool // a command may change a variable
}

// folderChange is a word cd, and the innermost brackets or substitution around it.
type folderChange struct {
	at       int
	brackets span // empty: there are none
}

func (w *walk) survey() *survey {
	if w.noted == nil {
		w.noted = &survey{}
		w.noted.add(w.file, span{})
	}
	return w.noted
}

// add surveys a node that is in some brackets.
func (s *survey) add(root syntax.Node, brackets span) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			if n != root {
				s.add(n, spanOf(n))
				return false
			}
		case *syntax.Comment:
			s.comments = append(s.comments, n)
		case *syntax.CallExpr:
			s.changesVariable = s.changesVariable || changesVariable(n)
		case *syntax.Word:
			s.words = append(s.words, n)
			if wordOf(n).Text == "cd" {
				s.folders = append(s.folders, folderChange{int(n.Pos().Offset()), brackets})
			}
		}
		return true
	})
}

// changesFolder reports whether one of some statements, but for what is in brackets, is a cd.
func (w *walk) changesFolder(stmts []*syntax.Stmt) bool {
	if len(stmts) == 0 {
		return false
	}
	of := spanOf(stmts[0])
	for _, stmt := range stmts[1:] {
		of.to = max(of.to, spanOf(stmt).to)
	}
	return slices.ContainsFunc(w.survey().folders, func(c folderChange) bool {
		return of.from <= c.at && c.at < of.to && !(of.holds(c.brackets) && c.brackets != span{})
	})
}
