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
	never    map[string]bool
}

func (o *own) keys(r *strictyaml.Reader) []strictyaml.Key {
	programs := func(to *map[string]*Program) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			*to = map[string]*Program{}
			r.Members(n, path, func(name, value *yaml.Node, path string) { (*to)[name.Value] = readProgram(r, value, path) })
		}
	}
	return []strictyaml.Key{
		{Name: "versions", Read: setNames(r, &o.versions)},
		{Name: "short_versions", Read: setNames(r, &o.short)},
		{Name: "chosen", Read: setNames(r, &o.chosen)},
		{Name: "local", Read: programs(&o.local)},
		{Name: "scripts", Read: func(n *yaml.Node, path string) {
			r.Mapping(n, path, []strictyaml.Key{
				{Name: "endings", Read: func(n *yaml.Node, path string) {
					o.endings = map[string][]string{}
					r.Members(n, path, func(name, value *yaml.Node, _ string) { o.endings[name.Value] = strings.Fields(value.Value) })
				}},
				{Name: "options", Read: programs(&o.options)},
				{Name: "never", Read: setNames(r, &o.never)},
			})
		}},
	}
}

// isOfProject reports whether a class is of what the project's own tools and programs do.
func (c Class) isOfProject() bool { return c == Check || c == Format || c == Project }

// classOf returns the entry of a program that shows its version, asks a server on this machine or
// runs a script of the project, or none.
func (o *own) classOf(name string, argv []string) (Entry, int) {
	switch {
	case len(argv) == 2 && o.showsVersion(name, argv[1]):
		if o.chosen[name] {
			return Entry{Class: Check, Why: "shows its version, and may run what a file of the project names", Operands: NoPaths}, 1
		}
		return Entry{Class: Read, Why: "shows its version", Operands: NoPaths}, 1
	case o.local[name] != nil && o.onlyAsksLocally(o.local[name], argv):
		return Entry{Class: Read, Why: "asks a server on this machine", Operands: NoPaths}, 1
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
	return Entry{}, 0
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
