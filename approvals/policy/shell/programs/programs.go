// Package programs is the table of programs that shell commands are compared with: which
// options change only what a program shows, which programs run others, and what a program does.
package programs

import (
	"maps"
	"slices"
	"strings"
)

// Table is the table of programs.yaml, extended by a policy.
type Table struct {
	options      map[string]*Program
	wrappers     map[string]*Wrapper
	shells       map[string]bool
	interpreters map[string]bool     // shells too
	runners      map[string]bool     // wrappers and interpreters too
	writers      map[string]bool     // by name, or name and subcommand
	searchers    map[string]bool     // without folder
	recursive    map[string]bool     // those that are searchers with -r
	patternFirst map[string]bool     // those whose first operand is what they search for
	like         map[string][]string // by name, subcommand and option
	stated       map[string]stated   // by name, or name and subcommand
	onlyShow     map[string]bool
	lists        [][]string
	tasks        tasks
	coverage     coverage

	Variables Variables
}

// Listed reports whether the table has the options of a program.
func (t *Table) Listed(name string) bool { return t.options[name] != nil }

// With is the table with programs added, or others in place of known ones.
func (t *Table) With(options map[string]*Program) *Table {
	if len(options) == 0 {
		return t
	}
	more := *t
	more.options = maps.Clone(t.options)
	maps.Copy(more.options, options)
	more.coverage.open = maps.Clone(t.coverage.open)
	more.stated, more.wrappers, more.runners = maps.Clone(t.stated), maps.Clone(t.wrappers), maps.Clone(t.runners)
	for name, p := range options {
		delete(more.coverage.open, name) // the policy lists what a * covers
		more.state(name, p)
		if p.given.wraps {
			more.wrappers[name], more.runners[name] = &Wrapper{Options: *p, Transparent: true, Given: true}, true
		}
	}
	return &more
}

// state adds what a policy states of a program and its subcommands, in place of what the table does.
func (t *Table) state(name string, p *Program) {
	if class := p.given.class; class != Unknown {
		t.stated[name] = stated{entries: []Entry{{Class: class, Why: "is of the class " + string(class) + " by the policy", Operands: p.given.paths, Skip: p.given.skip}}}
	}
	for command, inner := range p.commands {
		if inner.hasClass() && t.stated[name].entries == nil {
			t.stated[name] = stated{[]Entry{}, t.stated[name].runner} // it has no class of its own
		}
		t.state(name+" "+command, inner)
	}
}

// hasClass reports whether a policy states the class of a program or of one of its subcommands.
func (p *Program) hasClass() bool {
	for _, inner := range p.commands {
		if inner.hasClass() {
			return true
		}
	}
	return p.given.class != Unknown
}

// Writes reports whether a command writes to its operands.
func (t *Table) Writes(argv []string) bool {
	return t.writers[argv[0]] || (len(argv) > 1 && t.writers[argv[0]+" "+argv[1]])
}

// Names returns the names of a program in the table: without folder, .exe and letter case,
// and without version.
func Names(word string) (name, base string) {
	name = strings.TrimSuffix(strings.ToLower(lastSegment(word)), ".exe")
	base = name
	for base != "" && isVersion(base[len(base)-1]) {
		base = base[:len(base)-1]
	}
	return name, base
}

func isVersion(c byte) bool { return ('0' <= c && c <= '9') || c == '.' || c == '-' }

func among(all map[string]bool, word string) bool {
	name, base := Names(word)
	return all[name] || (base != name && all[base])
}

// MayRun reports whether the wrapper may run a program of a name. The name of a builtin of shells may be a command of its own to a
// program that a policy gives, such as test of rtk, which runs the words after it.
func (w *Wrapper) MayRun(name string) bool {
	return !w.own[name] && !((w.Given || w.own != nil) && slices.Contains(builtins, name))
}

// Wrapper is how a program runs another one, or nil.
func (t *Table) Wrapper(word string) *Wrapper {
	name, base := Names(word)
	if w := t.wrappers[name]; w != nil {
		return w
	}
	return t.wrappers[base]
}

// IsShell reports whether a program runs shell scripts of the parsed kind.
func (t *Table) IsShell(word string) bool { return among(t.shells, word) }

// IsInterpreter reports whether a program runs its operand or input as a script.
func (t *Table) IsInterpreter(word string) bool {
	return among(t.interpreters, word)
}

// RunsOthers reports whether a program runs other programs or text. An allow pattern covers it only
// without a *, or if its options are listed.
func (t *Table) RunsOthers(word string) bool {
	return among(t.runners, word)
}

// Variables are the known environment variables.
type Variables struct {
	look        map[string]bool
	settings    map[string]bool // NAME=value
	searchPaths map[string]bool
}

// OnlyLook reports whether a variable changes only how programs show what they do, whatever its value.
func (v *Variables) OnlyLook(name string) bool { return v.look[name] }

// Harmless reports whether a variable with a value changes neither what runs nor where it looks.
func (v *Variables) Harmless(name, value string) bool { return v.settings[name+"="+value] }

// Sets reports whether setting a variable to a value changes only how programs show what they do, or nothing of what they run.
func (v *Variables) Sets(name, value string) bool {
	return (v.OnlyLook(name) && !strings.Contains(value, "/")) || v.Harmless(name, value)
}

// SearchPath reports whether a variable names folders from which a program loads code.
func (v *Variables) SearchPath(name string) bool { return v.searchPaths[name] }

// Like returns the words that do the same as the last word of a command's beginning.
func (t *Table) Like(begin string) []string { return t.like[begin] }

// SearchesFor reports whether the first operand of a program is the text that it searches for.
func (t *Table) SearchesFor(program string) bool { return t.patternFirst[lastSegment(program)] }

// Searches reports whether a command reads or copies the files below a folder.
func (t *Table) Searches(argv []string) bool {
	name := lastSegment(argv[0])
	return t.searchers[name] || (t.recursive[name] && slices.ContainsFunc(argv[1:], isRecursive))
}

func isRecursive(word string) bool {
	if strings.HasPrefix(word, "--") {
		return strings.Contains(word, "recursive")
	}
	return isOption(word) && strings.ContainsAny(word, "rRa")
}

func lastSegment(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

func isOption(word string) bool { return strings.HasPrefix(word, "-") }

// Own returns how many words of a command are the program's own: it, its options and operands. The others are the command
// that it runs.
func (w *Wrapper) Own(words []string) (n int, ok bool) {
	i := 1
	for i < len(words) && isOption(words[i]) && words[i] != "-" {
		if words[i] == "--" {
			i++
			break
		}
		listed, takesNext := w.Options.Option(words[i])
		if !listed {
			return 0, false
		}
		if i++; takesNext {
			i++
		}
	}
	for w.Assigns && i < len(words) && IsAssignment(words[i]) {
		i++
	}
	i += w.Operands
	return i, i <= len(words)
}

// IsAssignment reports whether a word sets a variable.
func IsAssignment(text string) bool {
	name, _, found := strings.Cut(text, "=")
	return found && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
}

// Wrapper is how a program is called that runs another one: see programs.yaml.
type Wrapper struct {
	Options     Program
	Operands    int
	Assigns     bool
	Appends     bool
	OrScript    bool
	Joins       bool
	Scripts     bool
	Shell       bool
	Transparent bool
	Given       bool            // by a policy
	own         map[string]bool // names of its own commands; nil: every word may be a program
}
