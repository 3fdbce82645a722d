package shell

import (
	_ "embed"
	"maps"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Programs is what is known of programs: their options, and which of them run
// others. It is the table of programs.yaml, with what a policy adds to it.
type Programs struct {
	options      map[string]*Program
	wrappers     map[string]*wrapper
	shells       map[string]bool
	interpreters map[string]bool // those that are no shells
	runners      map[string]bool
	environment  map[string]bool
	writers      map[string]bool     // by name, or name and subcommand
	like         map[string][]string // by name, subcommand and option
	parsers      *sync.Pool          // of *syntax.Parser
}

//go:embed programs.yaml
var programsFile []byte

// KnownPrograms is the built-in table. It never changes.
var KnownPrograms = sync.OnceValue(func() *Programs {
	t := &Programs{
		options: map[string]*Program{}, wrappers: map[string]*wrapper{}, like: map[string][]string{},
		parsers: &sync.Pool{New: func() any { return newParser() }},
	}
	r := &strictyaml.Reader{File: "programs.yaml"}
	r.Mapping(r.Root(programsFile), "", []strictyaml.Key{
		{Name: "options", Read: func(n *yaml.Node, path string) { ReadOptions(r, n, path, t.options) }},
		{Name: "wrappers", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { t.wrappers[name.Value] = readWrapper(r, value, path) })
		}},
		{Name: "shells", Read: func(n *yaml.Node, path string) { t.shells = readNames(r, n, path) }},
		{Name: "interpreters", Read: func(n *yaml.Node, path string) { t.interpreters = readNames(r, n, path) }},
		{Name: "runners", Read: func(n *yaml.Node, path string) { t.runners = readNames(r, n, path) }},
		{Name: "environment", Read: func(n *yaml.Node, path string) { t.environment = readNames(r, n, path) }},
		{Name: "writers", Read: func(n *yaml.Node, path string) { t.writers = readNames(r, n, path) }},
		{Name: "like", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, _ string) { t.like[name.Value] = strings.Fields(value.Value) })
		}},
	})
	if len(r.Errors) > 0 {
		panic("internal error: the table of programs is not well formed: " + r.Errors.Error())
	}
	return t
})

// listed reports whether the options of a program are known.
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

// ReadOptions reads what is known of programs by name.
func ReadOptions(r *strictyaml.Reader, n *yaml.Node, path string, to map[string]*Program) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		if strings.ContainsAny(name.Value, "/* ") {
			r.Fail(name, path, "must be the name of a program, without folder")
			return
		}
		to[name.Value] = readProgram(r, value, path)
	})
}

func readProgram(r *strictyaml.Reader, n *yaml.Node, path string) *Program {
	p := &Program{most: -1}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "flags", Read: func(n *yaml.Node, path string) { p.flags = readLetters(r, n, path) }},
		{Name: "values", Read: func(n *yaml.Node, path string) { p.values = readLetters(r, n, path) }},
		{Name: "long", Read: func(n *yaml.Node, path string) { p.long = readNames(r, n, path) }},
		{Name: "words", Read: func(n *yaml.Node, path string) { p.words = readNames(r, n, path) }},
		{Name: "numbers", Read: r.SetBool(&p.numbers)},
		{Name: "dashes", Read: r.SetBool(&p.dashes)},
		{Name: "spell", Read: func(n *yaml.Node, path string) { p.spell = r.Number(n, path, 0) }},
		{Name: "most", Read: func(n *yaml.Node, path string) { p.most = r.Number(n, path, 0) }},
		{Name: "begins", Read: r.SetText(&p.begins)},
		{Name: "never", Read: func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				p.never = strings.Fields(text)
			}
		}},
		{Name: "commands", Read: func(n *yaml.Node, path string) {
			p.commands = map[string]*Program{}
			ReadOptions(r, n, path, p.commands)
		}},
	})
	return p
}

func readWrapper(r *strictyaml.Reader, n *yaml.Node, path string) *wrapper {
	w := &wrapper{}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "flags", Read: func(n *yaml.Node, path string) { w.flags = readLetters(r, n, path) }},
		{Name: "values", Read: func(n *yaml.Node, path string) { w.values = readLetters(r, n, path) }},
		{Name: "long", Read: func(n *yaml.Node, path string) { w.long = readNames(r, n, path) }},
		{Name: "long_values", Read: func(n *yaml.Node, path string) { w.longValues = readNames(r, n, path) }},
		{Name: "operands", Read: func(n *yaml.Node, path string) { w.operands = r.Number(n, path, 0) }},
		{Name: "numbers", Read: r.SetBool(&w.numbers)},
		{Name: "assigns", Read: r.SetBool(&w.assigns)},
		{Name: "appends", Read: r.SetBool(&w.appends)},
		{Name: "or_script", Read: r.SetBool(&w.orScript)},
		{Name: "joins", Read: r.SetBool(&w.joins)},
		{Name: "scripts", Read: r.SetBool(&w.scripts)},
		{Name: "shell", Read: r.SetBool(&w.shell)},
		{Name: "plain", Read: r.SetBool(&w.transparent)},
	})
	return w
}

// readLetters reads option letters, which YAML may take for a number.
func readLetters(r *strictyaml.Reader, n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || strings.ContainsAny(n.Value, " -=") {
		r.Fail(n, path, "must be letters, one an option, without dashes, and is %s", strictyaml.Describe(n))
		return ""
	}
	return n.Value
}

// readNames reads names with spaces between, or a list of them, without the dashes
// of long options.
func readNames(r *strictyaml.Reader, n *yaml.Node, path string) map[string]bool {
	if n.Kind == yaml.ScalarNode {
		return set(n.Value)
	}
	all := map[string]bool{}
	r.List(n, path, "names", func(n *yaml.Node, path string) {
		if name, ok := r.Text(n, path); ok {
			all[strings.TrimPrefix(name, "--")] = true
		}
	})
	return all
}

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}
