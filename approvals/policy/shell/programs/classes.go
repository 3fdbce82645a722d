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

// Class is what a command does, as far as classes.yaml states it. The zero value is unknown, which
// is never harmless.
type Class string

// The classes, from the least to the most severe.
const (
	Unknown   Class = ""
	Read      Class = "read"      // shows files, or facts about them or the machine
	Check     Class = "check"     // runs the project's own code: builds, tests, linters
	Write     Class = "write"     // changes the files that it names, or the repository
	Fetch     Class = "fetch"     // asks another computer
	Install   Class = "install"   // brings code of others
	Run       Class = "run"       // runs other code
	Send      Class = "send"      // may change something on another computer
	Publish   Class = "publish"   // makes something public
	Destroy   Class = "destroy"   // removes what may not come back
	Privilege Class = "privilege" // acts with other rights
)

var classes = []Class{Read, Check, Write, Fetch, Install, Run, Send, Publish, Destroy, Privilege}

// Classes returns the classes but Unknown, from the least to the most severe.
func Classes() []Class { return slices.Clone(classes) }

// OnlyKnown reports whether a class holds only if all options of a command are known.
func (c Class) OnlyKnown() bool { return slices.Index(classes, c) <= slices.Index(classes, Fetch) }

// Operands is which operands of a command are paths.
type Operands string

// The operands of a command that are paths.
const (
	AllPaths   Operands = ""
	NoPaths    Operands = "none"
	FirstPaths Operands = "first" // those in front of the first option
	LastPath   Operands = "last"  // all; the last is written to, the others are read
)

// Entry is what the table states of a command.
type Entry struct {
	Class    Class
	Why      string   // what it does, as the end of the sentence "The command ..."
	Operands Operands // which of them are paths
	Skip     int      // so many operands in front are no paths

	bare   bool
	option string
}

// tasks is which tasks of a project are its checks.
type tasks struct {
	runners map[string]*Program
	checks  map[string]bool
	never   map[string]bool
}

func readClasses(r *strictyaml.Reader, t *Table) {
	t.classes = map[string][]Entry{}
	keys := []strictyaml.Key{{Name: "tasks", Read: func(n *yaml.Node, path string) {
		t.tasks.runners = map[string]*Program{}
		r.Mapping(n, path, []strictyaml.Key{
			{Name: "runners", Read: func(n *yaml.Node, path string) {
				r.Members(n, path, func(name, value *yaml.Node, path string) { t.tasks.runners[name.Value] = readProgram(r, value, path) })
			}},
			{Name: "checks", Read: setNames(r, &t.tasks.checks)},
			{Name: "never", Read: setNames(r, &t.tasks.never)},
		})
	}}}
	keys = append(keys, strictyaml.Key{Name: "only_show", Read: setNames(r, &t.onlyShow)})
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
	})
	e.Operands = Operands(operands)
	for _, name := range names {
		one := e
		if before, option, found := strings.Cut(name, " -"); found {
			name, one.option = before, "-"+option
		}
		t.classes[name] = append(t.classes[name], one)
	}
}

// OnlyShows reports whether no option of a program does more than show.
func (t *Table) OnlyShows(program string) bool { return t.onlyShow[program] }

// ClassOf returns what the table states of a command, and the number of its words up to the
// subcommand. The class is unknown if that of an option may be another.
func (t *Table) ClassOf(argv []string, wild []bool) (Entry, int) {
	name := strings.TrimSuffix(strings.ToLower(lastSegment(argv[0])), ".exe")
	if folder := strings.TrimSuffix(argv[0], lastSegment(argv[0])); folder != "" && !slices.Contains([]string{"/bin/", "/usr/bin/", "/usr/local/bin/"}, folder) {
		return Entry{Class: Run, Why: "runs a program by its path"}, 1
	}
	may := t.StarMay(append([]string{name}, argv[1:]...), wild)
	entries, key, length := t.longest(name, argv)
	if runner := t.tasks.runners[key]; runner != nil && t.tasks.onlyChecks(runner, argv[length:]) {
		return Entry{Class: Check, Why: "runs a check of the project", Operands: NoPaths}, length
	}
	e := choose(entries, argv[length:])
	if e.Class == Unknown && t.RunsOthers(argv[0]) {
		return Entry{Class: Run, Why: "may run other programs"}, length
	}
	if e.Class.OnlyKnown() && !allKnown(may, argv, length, e) {
		e.Class, e.Why = Unknown, "has options or operands that the table does not list"
	}
	return e, length
}

// longest returns the entries of the longest name that the words of a command begin with, not
// counting options in front of subcommands.
func (t *Table) longest(name string, argv []string) (entries []Entry, key string, length int) {
	entries, key, length = t.classes[name], name, 1
	at, walk := name, optionWalk{at: t.options[name]}
	for i, word := range argv[1:] {
		isValue := walk.value
		walk.word(word, false)
		if isValue || isOption(word) {
			continue
		}
		at += " " + word
		if t.classes[at] == nil && t.tasks.runners[at] == nil {
			break
		}
		entries, key, length = t.classes[at], at, i+2
	}
	return entries, key, length
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
		return word == option
	}
	return strings.Contains(word[1:], option[1:])
}

// allKnown reports whether the words of a command after its subcommand are operands or options
// that the table lists, or the option of the entry itself.
func allKnown(may []bool, argv []string, length int, e Entry) bool {
	for i := 1; i < len(argv); i++ {
		if !may[i] && (i >= length || isOption(argv[i])) && !(e.option != "" && argv[i] == e.option) {
			return false
		}
	}
	return true
}

// onlyChecks reports whether the operands of a task runner are checks of the project and its
// options are known.
func (t *tasks) onlyChecks(runner *Program, rest []string) bool {
	walk := optionWalk{at: runner}
	found := false
	for _, word := range rest {
		isValue := walk.value
		if !walk.word(word, false) {
			return false
		}
		if isValue || isOption(word) {
			continue
		}
		if found = t.isCheck(word); !found {
			return false
		}
	}
	return found
}

func (t *tasks) isCheck(task string) bool {
	parts := strings.FieldsFunc(task, func(r rune) bool { return strings.ContainsRune(":-_.", r) })
	return len(parts) > 0 && (t.checks[parts[0]] || t.checks[task]) && !strings.Contains(task, "/") && !strings.Contains(task, "=") &&
		!slices.ContainsFunc(parts, func(part string) bool { return t.never[strings.ToLower(part)] })
}
