package programs

import (
	_ "embed"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed classes.yaml
var classesFile []byte

// stated is what the table states of a command.
type stated struct {
	entries []Entry
	runner  *Program // the options of a runner of tasks; nil: it is none
}

func readClasses(r *strictyaml.Reader, t *Table) {
	t.stated = map[string]stated{}
	keys := []strictyaml.Key{{Name: "tasks", Read: func(n *yaml.Node, path string) {
		r.Mapping(n, path, []strictyaml.Key{
			{Name: "runners", Read: func(n *yaml.Node, path string) {
				r.Members(n, path, func(name, value *yaml.Node, path string) {
					t.stated[name.Value] = stated{t.stated[name.Value].entries, readProgram(r, value, path, nil)}
				})
			}},
			{Name: "checks", Read: setNames(r, &t.tasks.checks)},
			{Name: "never", Read: setNames(r, &t.tasks.never)},
			{Name: "arguments", Read: func(n *yaml.Node, path string) { t.tasks.arguments = readProgram(r, n, path, nil) }},
		})
	}}}
	keys = append(keys, strictyaml.Key{Name: "only_show", Read: setNames(r, &t.onlyShow)})
	keys = append(keys, strictyaml.Key{Name: "lists", Read: func(n *yaml.Node, path string) {
		r.List(n, path, "names", func(n *yaml.Node, path string) {
			if name, ok := r.Text(n, path); ok {
				t.lists = append(t.lists, strings.Fields(name))
			}
		})
	}})
	keys = append(keys, t.tasks.started.keys(r)...)
	keys = append(keys, t.tasks.own.keys(r)...)
	for _, class := range classes {
		keys = append(keys, strictyaml.Key{Name: string(class), Read: func(n *yaml.Node, path string) {
			r.List(n, path, "entries", func(n *yaml.Node, path string) { t.readEntry(r, n, path, class) })
		}})
	}
	r.Mapping(r.Root(classesFile), "", keys)
}

func (t *Table) readEntry(r *strictyaml.Reader, n *yaml.Node, path string, class Class) {
	e := Entry{Class: class}
	var names []string
	var operands string
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "why", Read: r.SetText(&e.Why)},
		{Name: "of", Read: func(n *yaml.Node, path string) {
			r.List(n, path, "names", func(n *yaml.Node, path string) {
				if name, ok := r.Text(n, path); ok {
					names = append(names, name)
				}
			})
		}},
		{Name: "paths", Read: r.SetText(&operands)},
		{Name: "skip", Read: func(n *yaml.Node, path string) { e.Skip = r.Number(n, path, 0) }},
		{Name: "bare", Read: r.SetBool(&e.bare)},
		{Name: "never", Read: func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				e.never = &Program{operands: operandRules{never: strings.Fields(text)}}
			}
		}},
	})
	e.Operands = Operands(operands)
	for _, name := range names {
		one := e
		if before, option, found := strings.Cut(name, " -"); found {
			name, one.option = before, "-"+option
		}
		t.stated[name] = stated{append(t.stated[name].entries, one), t.stated[name].runner}
		for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name[:i], ' ') {
			if begin := t.stated[name[:i]]; begin.entries == nil {
				t.stated[name[:i]] = stated{[]Entry{}, begin.runner} // it has no class of its own
			}
		}
	}
}

// OnlyShows reports whether no option of a program does more than show.
func (t *Table) OnlyShows(program string) bool { return t.onlyShow[program] }

// ListsFiles reports whether a command prints nothing but names of files that there are.
func (t *Table) ListsFiles(argv []string) bool {
	if slices.Contains(t.StarMay(argv, nil)[1:], false) {
		return false
	}
	return slices.ContainsFunc(t.lists, func(name []string) bool {
		if len(argv) < len(name) {
			return false
		}
		for i, word := range name {
			if argv[i] != word {
				return false
			}
		}
		return !slices.ContainsFunc(argv[len(name):], printsMore)
	})
}

// printsMore reports whether an option may make a lister print other text.
func printsMore(word string) bool {
	return isOption(word) && (strings.HasPrefix(word, "--") || strings.Contains(word, "print") || word == "-ls" || strings.Contains(word, "="))
}

// ClassOf returns what the table states of a command, and the number of its words up to the
// subcommand. The class is unknown if that of an option may be another.
func (t *Table) ClassOf(argv []string, wild []bool) (Entry, int) {
	if folder := strings.TrimSuffix(argv[0], lastSegment(argv[0])); folder != "" && !slices.Contains([]string{"/bin/", "/usr/bin/", "/usr/local/bin/"}, folder) {
		if e, length := t.inFolder(folder, argv, wild); e.Class.isOfProject() {
			return e, length
		}
		if t.tasks.own.isProgram(t, folder, argv) {
			return Entry{Class: Project, Why: "runs a program of the project"}, 1
		}
		return Entry{Class: Run, Why: "runs a program by its path"}, 1
	}
	if e, length := t.launched(argv, wild); e.Class.isOfProject() {
		return e, length
	}
	return t.classOf(argv, wild)
}

// classOf is ClassOf of a program by its name, without launcher.
func (t *Table) classOf(argv []string, wild []bool) (Entry, int) {
	name := strings.TrimSuffix(strings.ToLower(lastSegment(argv[0])), ".exe")
	if name == "rm" {
		if e := t.tasks.started.removes(argv[1:], after(wild, 1)); e.Class != Unknown {
			return e, 1
		}
	}
	argv = t.dashed(name, argv)
	if e, length := t.tasks.own.classOf(t, name, argv); e.Class != Unknown {
		return e, length
	}
	found, length := t.longest(name, argv)
	if t.tasks.runs(found.runner, argv[length:]) || (length > 1 && t.tasks.runs(t.stated[name].runner, argv[1:])) { // npm run test, npm test
		return t.tasks.entry(argv[length:]), length
	}
	e := choose(found.entries, argv[length:])
	if e.Class == Unknown && t.RunsOthers(argv[0]) {
		return Entry{Class: Run, Why: "may run other programs"}, length
	}
	named := argv
	if name != argv[0] {
		named = slices.Concat([]string{name}, argv[1:])
	}
	if e.Class.OnlyKnown() && (e.bars(argv[length:]) || !allKnown(t.may(named, wild, true), argv, length, e)) {
		e.Class, e.Why = Unknown, "has options or operands that the table does not list"
	}
	return e, length
}

// bars reports whether a word after the subcommand is one with which the entry does not hold.
func (e *Entry) bars(rest []string) bool {
	return e.never != nil && slices.ContainsFunc(rest, e.never.barred)
}

// dashed returns a command with a dash in front of options that may have none.
func (t *Table) dashed(name string, argv []string) []string {
	if p := t.options[name]; p == nil || !p.forms.bundled || len(argv) == 1 || isOption(argv[1]) {
		return argv
	}
	argv = slices.Clone(argv)
	argv[1] = "-" + argv[1]
	return argv
}

// longest returns the entry of the longest name that the words of a command begin with, not counting options
// in front of subcommands.
func (t *Table) longest(name string, argv []string) (found stated, length int) {
	found, length = t.stated[name], 1
	var room [64]byte
	at, walk := append(room[:0], name...), optionWalk{at: t.options[name]}
	for i, word := range argv[1:] {
		isValue := walk.value
		walk.word(word, false)
		if isValue || isOption(word) {
			continue
		}
		at = append(append(at, ' '), word...)
		longer, known := t.stated[string(at)]
		if !known {
			break
		}
		if len(longer.entries) > 0 || longer.runner != nil {
			found, length = longer, i+2
		}
	}
	return found, length
}

// choose returns the entry for the rest of a command's words: the most severe of those with an
// option that is among the words, or else the one without.
func choose(entries []Entry, rest []string) Entry {
	var found Entry
	var option bool
	bare := !slices.ContainsFunc(rest, func(word string) bool { return !isOption(word) })
	for _, e := range entries {
		switch {
		case e.option != "":
			if slices.ContainsFunc(rest, func(word string) bool { return mayBe(word, e.option) }) &&
				(!option || slices.Index(classes, e.Class) > slices.Index(classes, found.Class)) {
				found, option = e, true
			}
		case option, e.bare && !bare, found.bare && !e.bare:
		default:
			found = e
		}
	}
	return found
}

// mayBe reports whether a word may be an option: among the letters of a word, or abbreviated.
func mayBe(word, option string) bool {
	long := strings.HasPrefix(option, "--")
	switch {
	case !isOption(word) || word == "-" || word == "--":
		return false
	case strings.HasPrefix(word, "--"):
		name, _, _ := strings.Cut(word, "=")
		return long && strings.HasPrefix(option, name)
	case long:
		return false
	case len(option) > 2: // find -delete
		name, _, _ := strings.Cut(word, "=")
		return name == option
	}
	return strings.Contains(word[1:], option[1:])
}

// allKnown reports whether the words of a command after its subcommand are operands or options
// that the table lists, or the option of the entry itself.
func allKnown(may []bool, argv []string, length int, e Entry) bool {
	for i := 1; i < len(argv); i++ {
		if e.option != "" && argv[i] == "" {
			return false // the value of sed -i on some systems, a script on others
		}
		if !may[i] && (i >= length || isOption(argv[i]) || isOption(argv[i-1])) && !(e.option != "" && argv[i] == e.option) {
			return false
		}
	}
	return true
}
