package programs

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// started is what may be in front of a check, and what checks leave behind.
type started struct {
	launchers map[string][]launcher // by their first word
	folders   map[string]bool
	caches    map[string]bool
}

// launcher is words that start a program of the project.
type launcher struct {
	words   []string
	only    map[string]bool // nil: any check
	options *Program        // that may follow the words; nil: none
}

// own returns how many words of a command are the launcher's: its words, and options that change nothing of what it starts.
// It returns 0 for another command.
func (l *launcher) own(argv []string, wild []bool) int {
	n := len(l.words)
	if len(argv) <= n || !slices.Equal(argv[:n], l.words) {
		return 0
	}
	walk := optionWalk{at: l.options}
	for n < len(argv) && (walk.value || isOption(argv[n])) {
		isWild := wild != nil && wild[n]
		if isWild || !walk.word(argv[n], isWild) {
			return 0
		}
		n++
	}
	if n == len(argv) {
		return 0
	}
	return n
}

func (s *started) keys(r *strictyaml.Reader) []strictyaml.Key {
	return []strictyaml.Key{
		{Name: "launchers", Read: func(n *yaml.Node, path string) {
			s.launchers = map[string][]launcher{}
			r.List(n, path, "launchers", func(n *yaml.Node, path string) { s.readLauncher(r, n, path) })
		}},
		{Name: "folders", Read: setNames(r, &s.folders)},
		{Name: "caches", Read: setNames(r, &s.caches)},
	}
}

func (s *started) readLauncher(r *strictyaml.Reader, n *yaml.Node, path string) {
	var names []string
	var only map[string]bool
	var options *Program
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "of", Read: func(n *yaml.Node, path string) {
			r.List(n, path, "names", func(n *yaml.Node, path string) {
				if name, ok := r.Text(n, path); ok {
					names = append(names, name)
				}
			})
		}},
		{Name: "only", Read: setNames(r, &only)},
		{Name: "options", Read: func(n *yaml.Node, path string) { options = readProgram(r, n, path, nil) }},
	})
	for _, name := range names {
		words := strings.Fields(name)
		s.launchers[words[0]] = append(s.launchers[words[0]], launcher{words, only, options})
	}
}

// launched returns the entry of the check that a launcher starts, or none.
func (t *Table) launched(argv []string, wild []bool) (Entry, int) {
	for _, l := range t.tasks.started.launchers[argv[0]] {
		n := l.own(argv, wild)
		if n == 0 || (l.only != nil && !l.only[argv[n]]) || strings.Contains(argv[n], "/") {
			continue
		}
		e, length := t.classOf(argv[n:], after(wild, n))
		if e.Class == Read && (n > 1 || l.only != nil) {
			e = e.inEnvironment()
		}
		if e.Class.isOfProject() {
			e.Script += n
			return e, n + length
		}
	}
	return Entry{}, 0
}

// inFolder returns the entry of the check that is installed in a folder of the project, or none.
func (t *Table) inFolder(folder string, argv []string, wild []bool) (Entry, int) {
	if !t.tasks.started.folders[folder] {
		return Entry{}, 0
	}
	e, length := t.ClassOf(append([]string{strings.TrimPrefix(argv[0], folder)}, argv[1:]...), wild)
	if e.Class == Read && length > 1 && folder != "./" { // pip list, not ls
		e = e.inEnvironment()
	}
	return e, length
}

// inEnvironment returns the entry of a reader that the project's environment may have in place of another.
func (e Entry) inEnvironment() Entry {
	return Entry{Class: Check, Why: "runs a program of the project's environment", Operands: e.Operands, Skip: e.Skip}
}

func after(wild []bool, n int) []bool {
	if wild == nil {
		return nil
	}
	return wild[n:]
}

// onlyCaches reports whether all operands of rm are folders that checks create again.
func (s *started) onlyCaches(rest []string) bool {
	found := false
	for _, word := range rest {
		if slices.Contains([]string{"-r", "-f", "-rf", "-fr"}, word) {
			continue
		}
		if found = s.caches[path.Base(word)] && !strings.HasSuffix(word, "/") && !isOption(word); !found {
			return false
		}
	}
	return found
}

// removes returns the entry of rm for paths that are made again or were temporary, or none.
func (s *started) removes(rest []string, wild []bool) Entry {
	switch {
	case s.onlyCaches(rest):
		return Entry{Class: Write, Why: "removes caches of checks"}
	case onlyScratch(rest, wild):
		return Entry{Class: Write, Why: "removes temporary files"}
	}
	return Entry{}
}

// isTemporary reports whether a path begins with a folder for temporary files. Whether it stays there the rules ask the
// workspace.
func isTemporary(path string) bool {
	for _, folder := range []string{"/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/"} {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// onlyScratch reports whether the operands of rm are temporary files, each named by itself.
func onlyScratch(rest []string, wild []bool) bool {
	found := false
	for i, word := range rest {
		if word == "-f" {
			continue
		}
		if found = isTemporary(word) && !strings.HasSuffix(word, "/") && (wild == nil || !wild[i]); !found {
			return false
		}
	}
	return found
}
