package shell

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Programs is the table of programs.yaml, extended by a policy.
type Programs struct {
	options      map[string]*Program
	wrappers     map[string]*wrapper
	shells       map[string]bool
	interpreters map[string]bool // those that are no shells
	runners      map[string]bool
	environment  map[string]bool
	writers      map[string]bool     // by name, or name and subcommand
	searchers    map[string]bool     // without folder
	recursive    map[string]bool     // those that are searchers with -r
	patternFirst map[string]bool     // those whose first operand is what they search for
	like         map[string][]string // by name, subcommand and option
	parsers      *sync.Pool          // of *syntax.Parser
}

func (t *Programs) listed(name string) bool { return t.options[name] != nil }

// With is the table with programs added, or others in place of known ones.
func (t *Programs) With(options map[string]*Program) *Programs {
	if len(options) == 0 {
		return t
	}
	more := *t
	more.options = maps.Clone(t.options)
	maps.Copy(more.options, options)
	return &more
}

func (t *Programs) parseSource(src string) (*syntax.File, error) {
	parser := t.parsers.Get().(*syntax.Parser)
	defer t.parsers.Put(parser)
	return parser.Parse(strings.NewReader(src), "")
}

func (t *Programs) writes(argv []string) bool {
	return t.writers[argv[0]] || (len(argv) > 1 && t.writers[argv[0]+" "+argv[1]])
}

// programNames returns the names of a program in the table: without folder, .exe and letter case,
// and without version.
func programNames(word string) (name, base string) {
	name = strings.TrimSuffix(strings.ToLower(match.LastSegment(word)), ".exe")
	return name, strings.TrimRight(name, "0123456789.-")
}

func among(all map[string]bool, word string) bool {
	name, base := programNames(word)
	return all[name] || all[base]
}

// wrapper is how a program runs another one, or nil.
func (t *Programs) wrapper(word string) *wrapper {
	name, base := programNames(word)
	if w := t.wrappers[name]; w != nil {
		return w
	}
	return t.wrappers[base]
}

// isShell reports whether a program runs shell scripts of the parsed kind.
func (t *Programs) isShell(word string) bool { return among(t.shells, word) }

// isInterpreter reports whether a program runs its operand or input as a script.
func (t *Programs) isInterpreter(word string) bool {
	return t.isShell(word) || among(t.interpreters, word)
}

// runsOthers reports whether a program runs other programs or text. An allow pattern covers it only
// without a *, or if its options are listed.
func (t *Programs) runsOthers(word string) bool {
	return t.wrapper(word) != nil || among(t.runners, word) || t.isInterpreter(word)
}

// wrapper is how a program is called that runs another one: see programs.yaml.
type wrapper struct {
	options     Program
	operands    int
	assigns     bool
	appends     bool
	orScript    bool
	joins       bool
	scripts     bool
	shell       bool
	transparent bool
}

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

// starMay returns for each word of a command whether a * of an allow pattern may match it: operands
// and listed options.
func (t *Programs) starMay(argv []string, wild []bool) []bool {
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
	listed, takesNext := w.at.option(word)
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

// option reports whether an option is listed, and whether the next word is its value.
func (p *Program) option(word string) (listed, takesNext bool) {
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
