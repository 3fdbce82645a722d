package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainFile is the syntax tree of a script that is one command of plain words with a space
// between: what the parser returns for it, with a fraction of the work. It is nil for any
// other script, and where the first word could mean more than the name of a program.
// FuzzPlainFile compares the two.
func plainFile(src string) *syntax.File {
	words := 1 + strings.Count(src, " ")
	call := &struct {
		file  syntax.File
		stmt  syntax.Stmt
		stmts [1]*syntax.Stmt
		cmd   syntax.CallExpr
	}{}
	list := make([]struct {
		word  syntax.Word
		lit   syntax.Lit
		parts [1]syntax.WordPart
	}, words)
	call.cmd.Args = make([]*syntax.Word, words)
	start := 0
	for i := range list {
		text, _, _ := strings.Cut(src[start:], " ")
		if !plainWord(text, i == 0) {
			return nil
		}
		one, end := &list[i], start+len(text)
		one.lit = syntax.Lit{ValuePos: position(start), ValueEnd: position(end), Value: text}
		one.parts[0] = &one.lit
		one.word.Parts = one.parts[:]
		call.cmd.Args[i] = &one.word
		start = end + 1
	}
	call.stmt = syntax.Stmt{Cmd: &call.cmd, Position: position(0)}
	call.stmts[0] = &call.stmt
	call.file.Stmts = call.stmts[:]
	return &call.file
}

// position is that of a byte in the first line.
func position(at int) syntax.Pos { return syntax.NewPos(uint(at), 1, uint(at)+1) }

// plainWord reports whether a word of a script has only letters, digits and signs that mean
// themselves. The first one sets no variable and is no word of the language.
func plainWord(text string, first bool) bool {
	for i := range len(text) {
		if c := text[i]; !plainByte[c] || (first && c == '=') {
			return false
		}
	}
	return text != "" && !(first && languageWords[text])
}

// plainByte has the bytes that mean themselves wherever they are in a word.
var plainByte = func() (plain [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@+=") {
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
