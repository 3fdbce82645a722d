package shell

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/internal/mask"
)

// Insert replaces src[from:to] by a text such that a shell reads the text literally, and
// reads everything else as before. The error does not contain the text.
func (t *Programs) Insert(src string, from, to int, text string) (string, error) {
	marker := "heldcallmarker"
	for strings.Contains(src, marker) || strings.Contains(text, marker) {
		marker += "x"
	}
	marked := src[:from] + marker + src[to:]
	before, err := t.shapeOf(marked, marker)
	switch {
	case len(src)+len(text) > MaxScript:
		return "", fmt.Errorf("the command is longer than %d KiB, the limit for parsing", MaxScript>>10)
	case err != nil:
		return "", err
	case before.found == nil:
		return "", errors.New("it is at a place in the command where heldcall inserts no value: it must be in an argument of a program or in the value of a variable")
	case strings.ContainsAny(text[:1], "-=%") && (from == 0 || strings.IndexByte(" \t\n'\"", src[from-1]) >= 0):
		return "", errors.New("the value begins with a character that programs take for an option")
	case *before.found == inDocument && strings.ContainsAny(text, "$`\\"):
		return "", errors.New("the value has characters that a here-document changes")
	}
	quoted := text
	if *before.found != inDocument {
		quoted = quotings[*before.found].Quote(text)
	}
	out := src[:from] + quoted + src[to:]
	after, err := t.shapeOf(out, "")
	if err != nil || strings.ReplaceAll(before.String(), marker, text) != after.String() || !t.Parse(marked).sameWords(t.Parse(out), marker, text) {
		return "", errors.New("the value would change the commands that run")
	}
	return out, nil
}

// quoteStyle is how the text of a word is quoted.
type quoteStyle byte

const (
	inWord     quoteStyle = 'b' // without quotes
	inDouble   quoteStyle = 'd'
	inSingle   quoteStyle = 's'
	inDocument quoteStyle = 'h' // a here-document
)

var quotings = map[quoteStyle]mask.Quoting{inWord: mask.Bare, inDouble: mask.Double, inSingle: mask.Single}

// InsertWord replaces a part of a word of a command that runs without a shell. The commands
// that the words run are the same then, at any depth.
func (t *Programs) InsertWord(argv []string, i, from, to int, text string) (string, error) {
	const marker = "heldcallmarker"
	words := slices.Clone(argv)
	words[i] = argv[i][:from] + marker + argv[i][to:]
	before := t.ParseArgv(words)
	words[i] = argv[i][:from] + text + argv[i][to:]
	if after := t.ParseArgv(words); strings.Contains(strings.Join(argv, " ")+text, marker) || (from == 0 && text[0] == '-') || !before.sameWords(after, marker, text) {
		return "", errors.New("the value would change the commands that run")
	}
	return words[i], nil
}

// sameWords reports whether two scripts run the same commands, at any depth, if a marker in
// the first is replaced by a text.
func (s *Script) sameWords(after *Script, marker, text string) bool {
	return s.Problem == after.Problem && slices.EqualFunc(s.All, after.All, func(a, b *Command) bool {
		return slices.EqualFunc(a.Words, b.Words, func(x, y string) bool { return strings.ReplaceAll(x, marker, text) == y })
	})
}

// shape is a script without its positions, in which the literal texts are unquoted.
type shape struct {
	strings.Builder
	marker string      // that is looked for, or ""
	found  *quoteStyle // of the marker, in an argument or a value
}

func (t *Programs) shapeOf(src, marker string) (*shape, error) {
	file, err := t.parseSource(src)
	if err != nil {
		return nil, errors.New("the command cannot be parsed as a shell script")
	}
	s := &shape{marker: marker}
	s.add(reflect.ValueOf(file), false)
	return s, nil
}

// add adds a value of a syntax tree. A text may be inserted in the words of an open value.
func (s *shape) add(v reflect.Value, open bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			s.WriteString("~")
			return
		}
		if v.Kind() == reflect.Pointer && s.addNode(v.Interface(), open) {
			return
		}
		s.add(v.Elem(), open)
	case reflect.Slice:
		fmt.Fprintf(s, "[%d ", v.Len())
		for i := range v.Len() {
			s.add(v.Index(i), open)
		}
		s.WriteString("]")
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Pos]() {
			return
		}
		s.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.add(v.Field(i), false)
			}
		}
		s.WriteString("}")
	default:
		fmt.Fprintf(s, "%v,", v)
	}
}

// addNode adds the nodes whose words may be open, and words. It reports false for others.
func (s *shape) addNode(node any, open bool) bool {
	switch node := node.(type) {
	case *syntax.CallExpr:
		s.WriteString("call ")
		s.add(reflect.ValueOf(node.Assigns), false)
		for i, word := range node.Args {
			s.add(reflect.ValueOf(word), i > 0)
		}
		s.WriteString("end ")
	case *syntax.Assign:
		fmt.Fprintf(s, "assign %v %v ", node.Append, node.Naked)
		s.add(reflect.ValueOf(node.Name), false)
		s.add(reflect.ValueOf(node.Index), false)
		s.add(reflect.ValueOf(node.Value), true)
		s.add(reflect.ValueOf(node.Array), false)
	case *syntax.Redirect:
		fmt.Fprintf(s, "redirect %v ", node.Op)
		s.add(reflect.ValueOf(node.N), false)
		s.add(reflect.ValueOf(node.Word), node.Op == syntax.WordHdoc)
		if node.Hdoc == nil {
			break
		}
		for _, part := range node.Hdoc.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				s.literal(inDocument, lit.Value, true)
				continue
			}
			s.add(reflect.ValueOf(part), false)
		}
	case *syntax.Word:
		s.word(node, open)
	case *syntax.Comment:
		s.WriteString("comment ")
	default:
		return false
	}
	return true
}

// literal adds a literal text.
func (s *shape) literal(how quoteStyle, text string, open bool) {
	if open && s.found == nil && s.marker != "" && strings.Contains(text, s.marker) {
		s.found = &how
	}
	fmt.Fprintf(s, "%c<%s>", how, text)
}

// word adds a word. Quoted texts that follow each other count as one.
func (s *shape) word(w *syntax.Word, open bool) {
	s.WriteString("word ")
	for i := 0; i < len(w.Parts); i++ {
		switch part := w.Parts[i].(type) {
		case *syntax.Lit:
			s.literal(inWord, unescape(part.Value, false), open)
		case *syntax.SglQuoted:
			if part.Dollar {
				fmt.Fprintf(s, "ansi<%s>", part.Value)
				continue
			}
			text := part.Value
			for ; i+2 < len(w.Parts) && isEscapedQuote(w.Parts[i+1]); i += 2 { // 'a'\''b'
				next, ok := w.Parts[i+2].(*syntax.SglQuoted)
				if !ok || next.Dollar {
					break
				}
				text += "'" + next.Value
			}
			s.literal(inSingle, text, open)
		case *syntax.DblQuoted:
			fmt.Fprintf(s, "quoted %v ", part.Dollar)
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					s.literal(inDouble, unescape(lit.Value, true), open && !part.Dollar)
					continue
				}
				s.add(reflect.ValueOf(inner), false)
			}
		default:
			s.add(reflect.ValueOf(part), false)
		}
	}
	s.WriteString(";")
}

func isEscapedQuote(part syntax.WordPart) bool {
	lit, ok := part.(*syntax.Lit)
	return ok && lit.Value == `\'`
}
