package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parsePlain returns the syntax tree of a script that is commands of plain words joined by &&, as the parser does for
// several times the work. It is nil for any other script, and where the first word of a command could mean more than the
// name of a program.
func parsePlain(src string) *syntax.File {
	var list *syntax.Stmt
	for from := 0; ; {
		text, _, more := strings.Cut(src[from:], listAnd)
		one := plainStmt(text, from)
		switch {
		case one == nil:
			return nil
		case list == nil:
			list = one
		default:
			var both struct {
				syntax.Stmt
				syntax.BinaryCmd
			}
			both.BinaryCmd = syntax.BinaryCmd{OpPos: posOf(from - len(listAnd) + 1), Op: syntax.AndStmt, X: list, Y: one}
			both.Stmt = syntax.Stmt{Position: list.Position, Cmd: &both.BinaryCmd}
			list = &both.Stmt
		}
		if !more {
			return &syntax.File{Stmts: []*syntax.Stmt{list}}
		}
		from += len(text) + len(listAnd)
	}
}

// listAnd is what joins the commands that [parsePlain] reads.
const listAnd = " && "

// plainStmt returns a command of plain words that begins at an offset, or nil. What belongs together is allocated together.
func plainStmt(text string, at int) *syntax.Stmt {
	n := 1 + strings.Count(text, " ")
	words := make([]struct {
		syntax.Word
		syntax.Lit
		parts [1]syntax.WordPart
	}, n)
	args := make([]*syntax.Word, n)
	begin := posOf(at)
	for i := range words {
		var literal string
		literal, text, _ = strings.Cut(text, " ")
		if !plainWord(literal, i == 0) {
			return nil
		}
		one := &words[i]
		one.Lit = syntax.Lit{ValuePos: posOf(at), ValueEnd: posOf(at + len(literal)), Value: literal}
		one.parts[0] = &one.Lit
		one.Word.Parts = one.parts[:]
		args[i] = &one.Word
		at += len(literal) + 1
	}
	var command struct {
		syntax.Stmt
		syntax.CallExpr
	}
	command.CallExpr.Args = args
	command.Stmt = syntax.Stmt{Position: begin, Cmd: &command.CallExpr}
	return &command.Stmt
}

// posOf is a place in a script of one line.
func posOf(offset int) syntax.Pos { return syntax.NewPos(uint(offset), 1, uint(offset)+1) }

// plainWord reports whether a word of a script has only letters, digits and signs that are literal
// text for the parser. The first one sets no variable and is no word of the language.
func plainWord(text string, first bool) bool {
	for i := range len(text) {
		if c := text[i]; !plainByte[c] || (first && c == '=') {
			return false
		}
	}
	return text != "" && !(first && languageWords[text])
}

// plainByte has the bytes that are literal text for the parser wherever they are in a word. A shell
// expands * later.
var plainByte = func() (plain [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@+=*") {
		plain[c] = true
	}
	return plain
}()

// languageWords are the words that begin more than a command, of any variant of the
// language.
var languageWords = func() map[string]bool {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq("if then elif else fi for foreach while until do done case esac in end function select repeat time " +
		"coproc let declare local export readonly typeset nameref @test always") {
		words[word] = true
	}
	return words
}()
