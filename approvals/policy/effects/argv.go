package effects

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// arguments are the words of a command behind its program: operands, and options with their values.
type arguments struct {
	operands []shell.Word
	options  map[string][]shell.Word // by name, with dashes; a flag has no value
	order    []string                // names of options, as they come
}

// has reports whether one of some options is there.
func (a *arguments) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := a.options[name]; return ok })
}

// value returns the first value of the first of some options that has one.
func (a *arguments) value(names ...string) string {
	for _, name := range names {
		for _, word := range a.options[name] {
			return word.Text
		}
	}
	return ""
}

// words returns the texts of the operands.
func (a *arguments) words() []string {
	words := make([]string, len(a.operands))
	for i, word := range a.operands {
		words[i] = word.Text
	}
	return words
}

func (a *arguments) add(name string, values ...shell.Word) {
	if _, ok := a.options[name]; !ok {
		a.order = append(a.order, name)
	}
	a.options[name] = append(a.options[name], values...)
}

// maxSubcommand is how many words a subcommand has in the tables at most.
const maxSubcommand = 4

// parse reads the words of a command. Which options take values depends on the subcommand so far.
func (p *program) parse(words []shell.Word) *arguments {
	r := &argumentReader{program: p, a: &arguments{options: map[string][]shell.Word{}}}
	r.subcommand()
	words = p.dashed(words)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case r.own.stop > 0 && len(r.a.operands) >= r.own.stop:
			r.a.operands = append(r.a.operands, word)
		case word.Text == "" && word.Known: // sed -i ''
		case word.Text == "--":
			r.a.add("--", words...)
			r.a.operands = append(r.a.operands, words...)
			return r.a
		case p.keys && strings.Contains(word.Text, "="):
			name, value, _ := strings.Cut(word.Text, "=")
			r.a.add("-"+name, shell.Word{Text: value, Known: word.Known, Glob: word.Glob})
		case len(word.Text) < 2 || word.Text[0] != '-':
			r.a.operands = append(r.a.operands, word)
			r.subcommand()
		case strings.HasPrefix(word.Text, "--") || p.long:
			words = r.long(word, words)
		default:
			words = r.short(word, words)
		}
	}
	return r.a
}

// dashed adds the dash that a first word with options may lack: tar xzf.
func (p *program) dashed(words []shell.Word) []shell.Word {
	if !p.bare || len(words) == 0 || strings.Trim(words[0].Text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return words
	}
	return append([]shell.Word{{Text: "-" + words[0].Text, Known: words[0].Known}}, words[1:]...)
}

// argumentReader reads words by the options that take values.
type argumentReader struct {
	program *program
	a       *arguments
	own     options // of the subcommand so far
}

// subcommand finds the options of the subcommand so far.
func (r *argumentReader) subcommand() {
	words := r.a.words()
	for length := min(maxSubcommand, len(words)); length >= 0; length-- {
		if own, ok := r.program.values[strings.Join(words[:length], " ")]; ok {
			r.own = own
			return
		}
	}
}

func (r *argumentReader) takesValue(name string) bool {
	switch {
	case r.own.flags[name]:
		return false
	case r.program.values[""].values[name], r.own.values[name]:
		return true
	}
	return r.program.flags != nil && strings.HasPrefix(name, "--") && !r.program.flags[name]
}

func (r *argumentReader) mayHaveAttached(name string) bool {
	return r.program.values[""].attached[name] || r.own.attached[name]
}

// long reads --name, --name=value, or --name value.
func (r *argumentReader) long(word shell.Word, words []shell.Word) []shell.Word {
	name, value, inline := strings.Cut(word.Text, "=")
	switch {
	case inline:
		r.a.add(name, shell.Word{Text: value, Known: word.Known, Glob: word.Glob})
	case r.takesValue(name):
		return r.values(name, words)
	default:
		r.a.add(name)
	}
	return words
}

// values takes the words that are the value of an option.
func (r *argumentReader) values(name string, words []shell.Word) []shell.Word {
	if len(words) == 0 || (r.program.flags != nil && strings.HasPrefix(words[0].Text, "--")) {
		r.a.add(name)
		return words
	}
	r.a.add(name, words[0])
	words = words[1:]
	for r.program.many && len(r.a.operands) > 1 && len(words) > 0 && !strings.HasPrefix(words[0].Text, "-") {
		r.a.add(name, words[0])
		words = words[1:]
	}
	return words
}

// short reads letters behind one dash: -rf, -n5, -n 5. Such a word is an option of its own too: -http.
func (r *argumentReader) short(word shell.Word, words []shell.Word) []shell.Word {
	if r.takesValue(word.Text) && len(word.Text) > 2 {
		return r.values(word.Text, words)
	}
	r.a.add(word.Text)
	for i, letter := range word.Text[1:] {
		name, attached := "-"+string(letter), word.Text[1+i+len(string(letter)):]
		value := shell.Word{Text: strings.TrimPrefix(attached, "="), Known: word.Known, Glob: word.Glob}
		switch {
		case r.mayHaveAttached(name) && attached != "":
			r.a.add(name, value)
			return words
		case !r.takesValue(name):
			r.a.add(name)
		case attached != "":
			r.a.add(name, value)
			return words
		default:
			return r.values(name, words)
		}
	}
	return words
}
