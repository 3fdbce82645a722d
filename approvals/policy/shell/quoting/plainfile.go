package quoting

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// PlainFile is the syntax tree of a script that is commands of plain words with a space
// between, joined by &&: what the parser returns for it, with a fraction of the work. It is
// nil for any other script, and where the first word of a command could mean more than the
// name of a program. FuzzPlainFile compares the two.
func PlainFile(src string) *syntax.File {
	var list *syntax.Stmt
	for start := 0; ; {
		text, _, more := strings.Cut(src[start:], and)
		next := plainStmt(text, start)
		switch {
		case next == nil:
			return nil
		case list == nil:
			list = next
		default:
			both := &syntax.BinaryCmd{OpPos: position(start - len("&& ")), Op: syntax.AndStmt, X: list, Y: next}
			list = &syntax.Stmt{Cmd: both, Position: position(0)}
		}
		if !more {
			return &syntax.File{Stmts: []*syntax.Stmt{list}}
		}
		start += len(text) + len(and)
	}
}

const and = " && "

// PlainWords returns the words of a script that is one command of plain words, else nil: those of the
// tree of [PlainFile]. All shells read them literally, but for each *.
func PlainWords(src string) []string {
	words := strings.Split(src, " ")
	for i, word := range words {
		if !plainWord(word, i == 0) || word[0] == '=' { // which zsh replaces
			return nil
		}
	}
	return words
}

// plainStmt is one command, which is at a place in the script.
func plainStmt(text string, start int) *syntax.Stmt {
	words := 1 + strings.Count(text, " ")
	list := make([]struct {
		word  syntax.Word
		lit   syntax.Lit
		parts [1]syntax.WordPart
	}, words)
	args := make([]*syntax.Word, words)
	at := start
	for i := range list {
		word, rest, _ := strings.Cut(text, " ")
		if !plainWord(word, i == 0) {
			return nil
		}
		one := &list[i]
		one.lit = syntax.Lit{ValuePos: position(at), ValueEnd: position(at + len(word)), Value: word}
		one.parts[0] = &one.lit
		one.word.Parts = one.parts[:]
		args[i] = &one.word
		text, at = rest, at+len(word)+len(" ")
	}
	one := &struct {
		stmt syntax.Stmt
		call syntax.CallExpr
	}{stmt: syntax.Stmt{Position: position(start)}, call: syntax.CallExpr{Args: args}}
	one.stmt.Cmd = &one.call
	return &one.stmt
}

// position is that of a byte in the first line.
func position(at int) syntax.Pos { return syntax.NewPos(uint(at), 1, uint(at)+1) }

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
