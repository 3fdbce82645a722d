package quoting

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// PlainCommand is a command of plain words, with a space between.
type PlainCommand struct {
	Text  string
	Words []Word
}

// PlainList returns the commands of a script that is commands of plain words joined by &&, with their words
// as the parser and [WordOf] read them, for a fraction of the work. It is nil for any other script, and
// where the first word of a command could mean more than the name of a program.
func PlainList(src string) []PlainCommand {
	list := make([]PlainCommand, 0, 1+strings.Count(src, And))
	for more := true; more; {
		var text string
		text, src, more = strings.Cut(src, And)
		words := plainCommand(text)
		if words == nil {
			return nil
		}
		list = append(list, PlainCommand{text, words})
	}
	return list
}

// And is what joins the commands of a [PlainList].
const And = " && "

func plainCommand(text string) []Word {
	words := make([]Word, 1+strings.Count(text, " "))
	for i := range words {
		var word string
		word, text, _ = strings.Cut(text, " ")
		switch {
		case !plainWord(word, i == 0):
			return nil
		case word[0] == '=', strings.IndexByte(word, '*') >= 0:
			words[i] = unquoted(&syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: word}}})
		default:
			words[i] = Word{Text: word, Open: word}
		}
	}
	return words
}

// PlainWords returns the words of a script that is one command of plain words, else nil. All shells read
// them literally, but for each *.
func PlainWords(src string) []string {
	words := strings.Split(src, " ")
	for i, word := range words {
		if !plainWord(word, i == 0) || word[0] == '=' { // which zsh replaces
			return nil
		}
	}
	return words
}

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
