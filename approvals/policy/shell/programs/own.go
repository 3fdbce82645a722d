package programs

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// own describes programs and scripts of a project, programs that are asked for their version, and
// requests to servers on this machine.
type own struct {
	versions map[string]bool
	short    map[string]bool // those of versions that show it with -v too
	chosen   map[string]bool // the project chooses what runs under this name
	local    map[string]*Program
	endings  map[string][]string // of scripts, by interpreter
	options  map[string]*Program // in front of a script, by interpreter
	programs map[string]*Program // see classes.yaml, by program and subcommand
	never    map[string]bool
	states   map[string]bool // subcommands of code hosts: see classes.yaml
	fields   map[string]bool
}

func (o *own) keys(r *strictyaml.Reader) []strictyaml.Key {
	programs := func(to *map[string]*Program) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			*to = map[string]*Program{}
			r.Members(n, path, func(name, value *yaml.Node, path string) { (*to)[name.Value] = readProgram(r, value, path, nil) })
		}
	}
	return []strictyaml.Key{
		{Name: "versions", Read: setNames(r, &o.versions)},
		{Name: "short_versions", Read: setNames(r, &o.short)},
		{Name: "chosen", Read: setNames(r, &o.chosen)},
		{Name: "local", Read: programs(&o.local)},
		{Name: "states", Read: func(n *yaml.Node, path string) {
			r.Mapping(n, path, []strictyaml.Key{
				{Name: "of", Read: func(n *yaml.Node, path string) {
					o.states = map[string]bool{}
					r.List(n, path, "names", func(n *yaml.Node, path string) {
						if name, ok := r.Text(n, path); ok {
							o.states[name] = true
						}
					})
				}},
				{Name: "fields", Read: setNames(r, &o.fields)},
			})
		}},
		{Name: "scripts", Read: func(n *yaml.Node, path string) {
			r.Mapping(n, path, []strictyaml.Key{
				{Name: "endings", Read: func(n *yaml.Node, path string) {
					o.endings = map[string][]string{}
					r.Members(n, path, func(name, value *yaml.Node, _ string) { o.endings[name.Value] = strings.Fields(value.Value) })
				}},
				{Name: "options", Read: programs(&o.options)},
				{Name: "programs", Read: programs(&o.programs)},
				{Name: "never", Read: setNames(r, &o.never)},
			})
		}},
	}
}

// isOfProject reports whether a class is of what the project's own tools and programs do.
func (c Class) isOfProject() bool { return c == Check || c == Format || c == Project }

// classOf returns the entry of a program that shows its version, asks a server on this machine or
// runs a script of the project, or none.
func (o *own) classOf(t *Table, name string, argv []string) (Entry, int) {
	switch {
	case len(argv) == 2 && o.showsVersion(name, argv[1]), t.showsHelp(name, argv):
		if o.chosen[name] {
			return Entry{Class: Check, Why: "shows its version or usage, and may run what a file of the project names", Operands: NoPaths}, 1
		}
		return Entry{Class: Read, Why: "shows its version or usage", Operands: NoPaths}, 1
	case o.local[name] != nil && o.onlyAsksLocally(o.local[name], argv):
		return Entry{Class: Read, Why: "asks a server on this machine", Operands: NoPaths}, 1
	}
	if e := environment(name, argv); e.Class != Unknown {
		return e, 1
	}
	interpreter, length := name, 1
	if len(argv) > 1 {
		if two := name + " " + argv[1]; o.endings[two] != nil {
			interpreter, length = two, 2
		}
	}
	if at := o.script(interpreter, argv, length); at > 0 && o.harmless(argv[at:]) {
		return Entry{Class: Project, Why: "runs a script of the project", Script: at}, length
	}
	if len(argv) > 1 && o.runsProgram(name+" "+argv[1], argv) {
		return Entry{Class: Project, Why: "builds and runs the program of the project", Script: 1}, 2
	}
	return Entry{}, 0
}

// runsProgram reports whether a command builds the program of the project and runs it: options in front of the program's own
// words are known, and no word is one of never.
func (o *own) runsProgram(subcommand string, argv []string) bool {
	p := o.programs[subcommand]
	if p == nil || !o.harmless(argv[2:]) {
		return false
	}
	walk := optionWalk{at: p}
	for i := 2; i < len(argv); i++ {
		if argv[i] == "--" || (!walk.value && !isOption(argv[i])) {
			return true
		}
		if !walk.word(argv[i], false) {
			return false
		}
	}
	return true
}

// environments are the folders of virtual environments of Python in a project.
var environments = strings.Fields(".venv venv ./.venv ./venv .venv/ venv/")

// environment returns the entry of a command that makes a virtual environment of the project, or has the shell use its
// programs, or none. They are in one of the folders whose programs are checks.
func environment(name string, argv []string) Entry {
	switch {
	case len(argv) == 4 && (name == "python" || name == "python3") && argv[1] == "-m" && argv[2] == "venv" && slices.Contains(environments, argv[3]):
		return Entry{Class: Check, Why: "makes a virtual environment of the project", Operands: NoPaths}
	case len(argv) == 2 && (argv[0] == "source" || argv[0] == "."):
		folder, found := strings.CutSuffix(argv[1], "/bin/activate")
		if found && slices.Contains(environments, folder) {
			return Entry{Class: Check, Why: "uses the programs of a virtual environment of the project", Operands: ReadPaths}
		}
	}
	return Entry{}
}

// builtins are commands of a shell, some of which run their operands, or print them.
var builtins = strings.Fields("eval source . exec command builtin time coproc trap test [ [[ echo printf true false : noglob nocorrect repeat sched call start")

// ShowsStates reports whether a command of a code host shows only states, numbers and addresses, and no text that others
// can write.
func (t *Table) ShowsStates(subcommand string, argv []string) bool {
	name := subcommand
	if words := strings.Fields(subcommand); len(words) > 0 && len(argv) > 2 && len(words) < 3 {
		name = strings.Join(argv[:3], " ")
	}
	if t.tasks.own.states[name] {
		return true
	}
	return len(argv) > 2 && slices.Contains([]string{"issue", "pr", "release", "repo", "run"}, argv[1]) && t.showsFields(argv[2:])
}

// showsFields reports whether the words of a command have --json, certainly as an option, and nothing but listed fields with
// it.
func (t *Table) showsFields(words []string) bool {
	found := false
	for i, word := range words {
		fields, inline := strings.CutPrefix(word, "--json=")
		isOther := func(field string) bool { return !t.tasks.own.fields[field] }
		switch {
		case word == "--":
			return false
		case word == "--json" && i+1 < len(words):
			fields = words[i+1]
		case strings.HasPrefix(word, "--json") && !inline:
			return false
		case !inline:
			continue
		}
		if (i > 0 && isOption(words[i-1]) && !strings.Contains(words[i-1], "=")) || slices.ContainsFunc(strings.Split(fields, ","), isOther) {
			return false // it may be the value of the option before it
		}
		found = true
	}
	return found
}

// showsHelp reports whether a command is a program that a table knows, with nothing but the words of a subcommand in it,
// and --help or, of a program alone, --version at its end. A subcommand that runs the words after it may run these.
func (t *Table) showsHelp(name string, argv []string) bool {
	n := len(argv) - 1
	if n < 1 || n > 3 || slices.Contains(builtins, name) || !(argv[n] == "--help" || (n == 1 && argv[n] == "--version")) {
		return false
	}
	text := strings.Join(append([]string{name}, argv[1:n]...), " ")
	if n == 1 {
		return t.isKnown(name, name) || t.tasks.own.versions[name]
	}
	_, isStated := t.stated[text] // git runs man, or what a setting names
	return isStated && name != "git" && !t.coverage.starts[text] && !t.coverage.starts[text+" --"]
}

// showsVersion reports whether a program only shows its version with an option alone.
func (o *own) showsVersion(name, option string) bool {
	return (o.versions[name] && slices.Contains([]string{"--version", "-version", "-V"}, option)) || (o.short[name] && option == "-v")
}

// script returns the index of the script that an interpreter runs, or 0.
func (o *own) script(interpreter string, argv []string, from int) int {
	endings := o.endings[interpreter]
	if len(endings) == 0 {
		return 0
	}
	walk := optionWalk{at: o.options[interpreter]}
	for i := from; i < len(argv); i++ {
		if !walk.value && !isOption(argv[i]) && !(walk.at != nil && walk.at.barred(argv[i])) {
			isScript := slices.ContainsFunc(endings, func(end string) bool {
				return strings.HasSuffix(argv[i], end) || (end == "./" && strings.HasPrefix(argv[i], end))
			})
			if isScript {
				return i
			}
			return 0
		}
		if !walk.word(argv[i], false) {
			return 0
		}
	}
	return 0
}

// harmless reports whether no word of a program of the project names an address, or has one of never
// as a part.
func (o *own) harmless(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		if strings.Contains(word, "://") || strings.Contains(word, "@") {
			return true
		}
		parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r < 'a' || r > 'z' })
		return slices.ContainsFunc(parts, func(part string) bool { return o.never[part] })
	})
}

// isProgram reports whether a program that is named with its folder is one of the project, and
// not one that is known by its name, or that a package manager put there.
func (o *own) isProgram(t *Table, folder string, argv []string) bool {
	name := path.Base(argv[0])
	known := t.RunsOthers(name) || t.Listed(name) || t.stated[name].entries != nil
	return !known && (folder == "./" || !t.tasks.started.folders[folder]) && o.harmless(argv)
}

// localServer is the URL of a server on this machine, without characters that are special to curl.
var localServer = regexp.MustCompile(`^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::[0-9]{1,5})?(?:[/?][^\s{}\[\]\\@]*)?$`)

// onlyAsksLocally reports whether the options of a request are known, and all addresses are of this
// machine.
func (o *own) onlyAsksLocally(p *Program, argv []string) bool {
	walk, found := optionWalk{at: p, outputs: true}, false
	for i, word := range argv[1:] {
		isValue := walk.value
		name, value, inline := strings.Cut(word, "=")
		discards := (!isValue || !p.outputs[argv[i]] || word == "/dev/null") && (!inline || !p.outputs[name] || value == "/dev/null")
		if !walk.word(word, false) || !discards {
			return false
		}
		if isValue || isOption(word) {
			continue
		}
		if found = localServer.MatchString(word); !found {
			return false
		}
	}
	return found
}
