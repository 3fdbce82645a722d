package programs

import (
	"regexp"
	"slices"
	"strings"
)

// Program is the options of a program or subcommand: see programs.yaml.
type Program struct {
	optionNames
	after    *Program // the options of what follows --; nil: none
	forms    forms
	spell    int
	script   string // kind of the script that is spell: it need not be spelled out if it only prints
	prints   bool   // every word that is not an option is printed
	operands operandRules
	commands map[string]*Program
	folders  []string // the options, in front of the subcommand, whose value is a folder to work in
	given    given
}

// given is what a policy states of a program or subcommand: see classes.yaml.
type given struct {
	class Class
	paths Operands
	skip  int
	wraps bool // it runs the command that follows its options, and does no more
}

// forms is how options may be written.
type forms struct {
	numbers bool // -5
	dashes  bool // after -- there are operands only
	bundled bool // the first word may be options without -
}

// operandRules are what the operands of a program may be.
type operandRules struct {
	most   int      // below 0: any number
	begins string   // the beginning of every operand
	never  []string // beginnings that neither operands nor values have
}

// StarMay returns for each word of a command whether a * of an allow pattern may match it: operands
// and listed options.
func (t *Table) StarMay(argv []string, wild []bool) []bool { return t.may(argv, wild, false) }

// may is StarMay, or also covers options with a file that is written.
func (t *Table) may(argv []string, wild []bool, outputs bool) []bool {
	w := optionWalk{at: t.options[argv[0]], outputs: outputs}
	may := make([]bool, len(argv))
	if t.asksForHelp(argv) {
		return slices.Repeat([]bool{true}, len(argv))
	}
	for i, word := range argv[1:] {
		may[i+1] = w.word(word, wild != nil && wild[i+1])
	}
	return may
}

// asksForHelp reports whether a command is a program, with names of subcommands that the table lists,
// and --help or --version. git runs man or a browser for the help of a subcommand.
func (t *Table) asksForHelp(argv []string) bool {
	last := len(argv) - 1
	if last < 1 || (argv[last] != "--help" && argv[last] != "--version") || (argv[0] == "git" && last > 1) {
		return false
	}
	at := t.options[argv[0]]
	for _, word := range argv[1:last] {
		if at != nil {
			at = at.commands[word]
		}
	}
	return at != nil
}

// optionNames are the listed options, by how they are written.
type optionNames struct {
	flags      string
	values     string
	long       map[string]bool
	longValues map[string]bool // of wrappers
	words      map[string]bool
	valued     valued
	outputs    map[string]bool // those whose value is a file that is written
}

// valued are options whose value is the next word.
type valued struct {
	words   map[string]bool     // of several letters after one dash
	limited map[string][]string // with what the value is, or begins with
}

// ofLetter returns the texts to which the value of a one-letter option is limited, nil for any.
func (v *valued) ofLetter(letter byte) []string {
	if len(v.limited) == 0 {
		return nil
	}
	return v.limited["-"+string(rune(letter))]
}

type optionWalk struct {
	at       *Program // nil: nothing is known of its options
	operands int
	only     bool     // -- has been: no more options
	value    bool     // the next word is an option's value
	limits   []string // what that begins with; none: anything
	outputs  bool     // options with a file that is written are known too
}

func (w *optionWalk) word(word string, wild bool) bool {
	switch {
	case w.at == nil:
		return !isOption(word)
	case w.value:
		return w.takeValue(word, wild)
	case w.only || !isOption(word) || word == "-":
		return w.operand(word, wild)
	case word == "--" && w.at.after != nil:
		w.at, w.operands = w.at.after, 0
		return true
	case word == "--":
		w.only = w.at.forms.dashes
		return w.at.forms.dashes
	}
	if name, value, inline := strings.Cut(word, "="); w.outputs && w.at.outputs[name] {
		w.value = !inline
		return !inline || (value != "" && !isOption(value))
	}
	listed, takesNext := w.at.Option(word)
	w.value, w.limits = takesNext, w.at.valued.limited[word]
	return listed
}

// takeValue reports whether a word may be the value of the option before it.
func (w *optionWalk) takeValue(word string, wild bool) bool {
	limits := w.limits
	w.value, w.limits = false, nil
	if word == "-" && slices.Contains(limits, word) {
		return true
	}
	return w.mayBeValue(word, wild) && (limits == nil || (!wild && begins(word, limits)))
}

// mayBeValue reports whether a word may be the value of an option.
func (w *optionWalk) mayBeValue(word string, wild bool) bool {
	return !isOption(word) && !(wild && w.at.operands.most >= 0) && !w.at.barred(word)
}

func (w *optionWalk) operand(word string, wild bool) bool {
	if w.at.commands != nil {
		w.at = w.at.commands[word]
		return w.at != nil
	}
	w.operands++
	if !strings.HasPrefix(word, w.at.operands.begins) || w.at.barred(word) {
		return false
	}
	if wild && (w.at.operands.most >= 0 || w.operands <= w.at.spell) {
		return false // it may be several
	}
	if w.operands <= w.at.spell && !isPrintScript(w.at.script, word) {
		return false
	}
	return (w.at.operands.most < 0 || w.operands <= w.at.operands.most)
}

// Option reports whether an option is listed, and whether the next word is its value.
func (p *Program) Option(word string) (listed, takesNext bool) {
	if p.prints {
		return true, false
	}
	if p.valued.limited[word] != nil {
		return true, true
	}
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, value, inline := strings.Cut(name, "=")
		if limits := p.valued.limited["--"+name]; limits != nil {
			return begins(value, limits), false
		}
		if p.longValues[name] {
			return true, !inline
		}
		return p.long[name] && !p.barred(value), false
	}
	if p.valued.words[word] {
		return true, true
	}
	if name, value, _ := strings.Cut(word, "="); p.words[name] {
		return value == "" || !isOption(value), false
	}
	if p.forms.numbers && isNumber(word[1:]) {
		return true, false
	}
	return p.letters(word)
}

// letters is Option for one-letter options, which may stand together.
func (p *Program) letters(word string) (listed, takesNext bool) {
	for i := 1; i < len(word); i++ {
		if limits := p.valued.ofLetter(word[i]); limits != nil {
			value := strings.TrimPrefix(word[i+1:], "=")
			return begins(value, limits) && !p.barred(value), false
		}
		switch {
		case strings.IndexByte(p.values, word[i]) >= 0:
			return !p.barred(strings.TrimPrefix(word[i+1:], "=")), i == len(word)-1
		case strings.IndexByte(p.flags, word[i]) < 0:
			return false, false
		}
	}
	return true, false
}

// begins reports whether a word is one of some texts, or has the form of one: see limited in programs.yaml.
func begins(word string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		if end, ends := strings.CutPrefix(text, "*"); ends {
			name, found := strings.CutSuffix(word, end)
			return found && plainName.MatchString(name)
		}
		if before, flags := strings.CutSuffix(text, "-"); flags {
			value, found := strings.CutPrefix(word, before)
			return found && compilerFlags.MatchString(value)
		}
		return word == text || (strings.ContainsAny(text[len(text)-1:], "=.:") && strings.HasPrefix(word, text))
	})
}

var (
	plainName     = regexp.MustCompile(`^\w+$`)
	compilerFlags = regexp.MustCompile(`^(-(W[a-z0-9=+-]+|O[0-3sgz]?|g[0-3]?|std=[a-z0-9+]+|pedantic|pedantic-errors|f(no-)?(exceptions|rtti|omit-frame-pointer|sanitize=[a-z,-]+|PIC|pic)) *)+$`)
)

// isNumber reports whether a text is digits, or digits and a unit.
func isNumber(text string) bool {
	unit := strings.TrimLeft(text, "0123456789")
	return unit == "" || (unit != text && len(unit) == 1 && strings.Contains("bcwkMG", unit))
}

// barred reports whether an operand or a value means more than itself.
func (p *Program) barred(text string) bool {
	return slices.ContainsFunc(p.operands.never, func(begin string) bool {
		part, anywhere := strings.CutPrefix(begin, "*")
		isScheme := strings.HasSuffix(begin, ":") && len(text) >= len(begin) && strings.EqualFold(text[:len(begin)], begin)
		return isScheme || strings.HasPrefix(text, begin) || (anywhere && strings.Contains(text, part))
	})
}

// ScriptWord returns the index of the word of a command that is a script which only prints, or 0.
func (t *Table) ScriptWord(argv []string) int {
	if !t.TakesScript(argv[0]) {
		return 0
	}
	w := optionWalk{at: t.options[argv[0]]}
	for i, word := range argv[1:] {
		if may := w.word(word, false); !may {
			return 0
		}
		if w.operands == 1 {
			return i + 1
		}
	}
	return 0
}

// TakesScript reports whether the first operand of a program is a script of sed or awk.
func (t *Table) TakesScript(program string) bool {
	p := t.options[program]
	return p != nil && p.script != ""
}

// WithoutGlobals returns the words of a command without the listed options in front of its
// subcommand, as indices, and the indices of the folders to which they change. Of a program without subcommands only the
// options of folders are left out. ok is false if there are no such options, or others.
func (t *Table) WithoutGlobals(argv []string) (rest, folders []int, ok bool) {
	p := t.options[argv[0]]
	if p == nil || (p.commands == nil && p.folders == nil) {
		return nil, nil, false
	}
	i := 1
	rest = []int{0}
	for i < len(argv) && isOption(argv[i]) {
		from := i
		if slices.Contains(p.folders, argv[i]) {
			i += 2
			folders = append(folders, from+1)
			continue
		}
		n := p.globalOption(argv[i:])
		if n == 0 {
			return nil, nil, false
		}
		if i += n; p.commands == nil {
			rest = appendUpTo(rest, from, i)
		}
	}
	least := i + 1 // the subcommand follows
	if p.commands == nil {
		least = i
	}
	if i == 1 || len(argv) < least || (p.commands == nil && folders == nil) {
		return nil, nil, false
	}
	return appendUpTo(rest, i, len(argv)), folders, true
}

// appendUpTo adds the indices of some words.
func appendUpTo(at []int, from, to int) []int {
	for ; from < to; from++ {
		at = append(at, from)
	}
	return at
}

// globalOption returns how many words an option in front of a subcommand is, with its value, or 0 for one that is not listed.
func (p *Program) globalOption(argv []string) int {
	listed, takesNext := p.Option(argv[0])
	if limits := p.valued.limited[argv[0]]; limits != nil && (len(argv) == 1 || !begins(argv[1], limits)) {
		return 0
	}
	switch {
	case !listed:
		return 0
	case takesNext:
		return 2
	}
	return 1
}

// AppendSubcommand adds the words of a command up to its subcommand without the program, options and
// their values.
func AppendSubcommand(names []string, t *Table, argv []string) []string {
	walk := optionWalk{at: t.options[argv[0]]}
	for _, word := range argv[1:] {
		isValue := walk.value
		walk.word(word, false)
		if !isValue && !isOption(word) {
			names = append(names, word)
		}
	}
	return names
}
