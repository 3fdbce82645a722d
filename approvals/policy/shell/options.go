package shell

import (
	"slices"
	"strings"
)

// Program is what the table says of a program's options, or of those of a
// subcommand: see programs.yaml.
type Program struct {
	flags    string
	values   string
	long     map[string]bool
	words    map[string]bool
	numbers  bool
	dashes   bool
	spell    int
	most     int      // below 0: any number
	begins   string   // of every operand
	never    []string // what neither operands nor values begin with
	commands map[string]*Program
}

// starMay says of each word of a command whether a * in an allow pattern may
// stand for it: for operands, and for options that the table lists.
func (t *Programs) starMay(argv []string, wild []bool) []bool {
	w := optionWalk{at: t.options[argv[0]]}
	may := make([]bool, len(argv))
	for i, word := range argv[1:] {
		may[i+1] = w.word(word, wild != nil && wild[i+1])
	}
	return may
}

// optionWalk goes through the words of a command from left to right.
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

// option reports whether a word is an option that is listed, and whether the
// next word is its value.
func (p *Program) option(word string) (listed, takesNext bool) {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, value, _ := strings.Cut(name, "=")
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

// barred reports whether an operand or a value stands for more than itself.
func (p *Program) barred(text string) bool {
	return slices.ContainsFunc(p.never, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// MayOpenLast reports whether a pattern with a * in place of a command's last operand
// covers nothing but other operands of a program that only reads them.
func (t *Programs) MayOpenLast(c *Command) bool {
	switch {
	case len(c.Words) < 3, c.runsOthers, t.writes(c.Words), !t.listed(c.Words[0]), strings.Contains(c.Words[0], "/"):
		return false
	case c.wild != nil, slices.Contains(c.mayStar[1:], false), slices.ContainsFunc(c.Words, isOption):
		return false
	}
	return true
}

// writes reports whether a program writes to its operands.
func (t *Programs) writes(argv []string) bool {
	return t.writers[argv[0]] || len(argv) > 1 && t.writers[argv[0]+" "+argv[1]]
}

// programNames are the names under which a program may be known: without folder,
// .exe and letter case, and without its version.
func programNames(word string) (name, base string) {
	name = word[strings.LastIndexByte(word, '/')+1:]
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	return name, strings.TrimRight(name, "0123456789.-")
}

// among reports whether a program is one of those.
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

// isShell reports whether a program reads shell scripts of the kind that is
// parsed here.
func (t *Programs) isShell(word string) bool { return among(t.shells, word) }

// isInterpreter reports whether a program runs what it is given as a script or
// reads on its input.
func (t *Programs) isInterpreter(word string) bool {
	return t.isShell(word) || among(t.interpreters, word)
}

// runsOthers reports whether a program runs other programs or the text it is
// given. An allow pattern covers it only if it spells out the whole command, or
// where the table of options says for what a * may stand.
func (t *Programs) runsOthers(word string) bool {
	return t.wrapper(word) != nil || among(t.runners, word) || t.isInterpreter(word)
}
