package programs

import (
	"slices"
	"strings"
)

// Program is the options of a program or subcommand: see programs.yaml.
type Program struct {
	flags      string
	values     string
	long       map[string]bool
	longValues map[string]bool // of wrappers
	words      map[string]bool
	numbers    bool
	dashes     bool
	spell      int
	most       int      // below 0: any number
	begins     string   // of every operand
	never      []string // what neither operands nor values begin with
	commands   map[string]*Program
}

// StarMay returns for each word of a command whether a * of an allow pattern may match it: operands
// and listed options.
func (t *Table) StarMay(argv []string, wild []bool) []bool {
	w := optionWalk{at: t.options[argv[0]]}
	may := make([]bool, len(argv))
	for i, word := range argv[1:] {
		may[i+1] = w.word(word, wild != nil && wild[i+1])
	}
	return may
}

type optionWalk struct {
	at       *Program // nil: nothing is known of its options
	operands int
	only     bool // -- has been: no more options
	value    bool // the next word is an option's value
}

func (w *optionWalk) word(word string, wild bool) bool {
	switch {
	case w.at == nil:
		return !isOption(word)
	case w.value:
		w.value = false
		return !isOption(word) && !(wild && w.at.most >= 0) && !w.at.barred(word)
	case w.only || !isOption(word) || word == "-":
		return w.operand(word, wild)
	case word == "--":
		w.only = w.at.dashes
		return w.at.dashes
	}
	listed, takesNext := w.at.Option(word)
	w.value = takesNext
	return listed
}

func (w *optionWalk) operand(word string, wild bool) bool {
	if w.at.commands != nil {
		w.at = w.at.commands[word]
		return w.at != nil
	}
	w.operands++
	if !strings.HasPrefix(word, w.at.begins) || w.at.barred(word) {
		return false
	}
	if wild && (w.at.most >= 0 || w.operands <= w.at.spell) {
		return false // it may be several
	}
	return w.operands > w.at.spell && (w.at.most < 0 || w.operands <= w.at.most)
}

// Option reports whether an option is listed, and whether the next word is its value.
func (p *Program) Option(word string) (listed, takesNext bool) {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, value, inline := strings.Cut(name, "=")
		if p.longValues[name] {
			return true, !inline
		}
		return p.long[name] && !p.barred(value), false
	}
	if name, value, _ := strings.Cut(word, "="); p.words[name] {
		return value == "" || !isOption(value), false
	}
	if p.numbers && strings.Trim(word[1:], "0123456789") == "" {
		return true, false
	}
	for i := 1; i < len(word); i++ {
		switch {
		case strings.IndexByte(p.values, word[i]) >= 0:
			return !p.barred(strings.TrimPrefix(word[i+1:], "=")), i == len(word)-1
		case strings.IndexByte(p.flags, word[i]) < 0:
			return false, false
		}
	}
	return true, false
}

// barred reports whether an operand or a value means more than itself.
func (p *Program) barred(text string) bool {
	return slices.ContainsFunc(p.never, func(begin string) bool { return strings.HasPrefix(text, begin) })
}
