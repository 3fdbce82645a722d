package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainCommand is a command of plain words, with a space between.
type plainCommand struct {
	Text  string
	Words []word
}

// plainList returns the commands of a script that is commands of plain words joined by &&, with their words
// as the parser and [wordOf] read them, for a fraction of the work. It is nil for any other script, and
// where the first word of a command could mean more than the name of a program.
func plainList(src string) []plainCommand {
	list := make([]plainCommand, 0, 1+strings.Count(src, listAnd))
	for more := true; more; {
		var text string
		text, src, more = strings.Cut(src, listAnd)
		words := plainCommandWords(text)
		if words == nil {
			return nil
		}
		list = append(list, plainCommand{text, words})
	}
	return list
}

// listAnd is what joins the commands of a [plainList].
const listAnd = " && "

func plainCommandWords(text string) []word {
	words := make([]word, 1+strings.Count(text, " "))
	for i := range words {
		var part string
		part, text, _ = strings.Cut(text, " ")
		switch {
		case !plainWord(part, i == 0):
			return nil
		case part[0] == '=', strings.IndexByte(part, '*') >= 0:
			words[i] = unquoted(&syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: part}}})
		default:
			words[i] = word{Text: part, Open: part}
		}
	}
	return words
}

// plainWords returns the words of a script that is one command of plain words, else nil. All shells read
// them literally, but for each *.
func plainWords(src string) []string {
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
