package policy

import (
	_ "embed"
	"maps"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// programs is what is known of programs: their options, and which of them run
// others. It is the table of programs.yaml, with what a policy adds to it.
type programs struct {
	options      map[string]*program
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

// knownPrograms is the built-in table. It never changes.
var knownPrograms = sync.OnceValue(func() *programs {
	t := &programs{
		options: map[string]*program{}, wrappers: map[string]*wrapper{}, like: map[string][]string{},
		parsers: &sync.Pool{New: func() any { return newParser() }},
	}
	r := newReader("programs.yaml")
	r.mapping(r.document(programsFile), "", []key{
		{"options", func(n *yaml.Node, path string) { r.options(n, path, t.options) }},
		{"wrappers", func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { t.wrappers[name.Value] = r.wrapper(value, path) })
		}},
		{"shells", func(n *yaml.Node, path string) { t.shells = r.nameSet(n, path) }},
		{"interpreters", func(n *yaml.Node, path string) { t.interpreters = r.nameSet(n, path) }},
		{"runners", func(n *yaml.Node, path string) { t.runners = r.nameSet(n, path) }},
		{"environment", func(n *yaml.Node, path string) { t.environment = r.nameSet(n, path) }},
		{"writers", func(n *yaml.Node, path string) { t.writers = r.nameSet(n, path) }},
		{"like", func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, _ string) { t.like[name.Value] = strings.Fields(value.Value) })
		}},
	}, nil)
	if len(r.Errors) > 0 {
		panic("internal error: the table of programs is not well formed: " + r.Errors.Error())
	}
	return t
})

// listed reports whether the options of a program are known.
func (t *programs) listed(name string) bool { return t.options[name] != nil }

// with is the table with programs added, or others in place of known ones.
func (t *programs) with(options map[string]*program) *programs {
	if len(options) == 0 {
		return t
	}
	more := *t
	more.options = maps.Clone(t.options)
	maps.Copy(more.options, options)
	return &more
}

// options reads what is known of programs by name.
func (r *reader) options(n *yaml.Node, path string, to map[string]*program) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		if strings.ContainsAny(name.Value, "/* ") {
			r.Fail(name, path, "must be the name of a program, without folder")
			return
		}
		to[name.Value] = r.program(value, path)
	})
}

func (r *reader) program(n *yaml.Node, path string) *program {
	p := &program{most: -1}
	r.mapping(n, path, []key{
		{"flags", func(n *yaml.Node, path string) { p.flags = r.letters(n, path) }},
		{"values", func(n *yaml.Node, path string) { p.values = r.letters(n, path) }},
		{"long", func(n *yaml.Node, path string) { p.long = r.nameSet(n, path) }},
		{"words", func(n *yaml.Node, path string) { p.words = r.nameSet(n, path) }},
		{"numbers", func(n *yaml.Node, path string) { p.numbers = r.Bool(n, path) }},
		{"dashes", func(n *yaml.Node, path string) { p.dashes = r.Bool(n, path) }},
		{"spell", func(n *yaml.Node, path string) { p.spell = r.Number(n, path, 0) }},
		{"most", func(n *yaml.Node, path string) { p.most = r.Number(n, path, 0) }},
		{"begins", func(n *yaml.Node, path string) { p.begins, _ = r.Text(n, path) }},
		{"never", func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				p.never = strings.Fields(text)
			}
		}},
		{"commands", func(n *yaml.Node, path string) {
			p.commands = map[string]*program{}
			r.options(n, path, p.commands)
		}},
	}, nil)
	return p
}

func (r *reader) wrapper(n *yaml.Node, path string) *wrapper {
	w := &wrapper{}
	yes := func(to *bool) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) { *to = r.Bool(n, path) }
	}
	r.mapping(n, path, []key{
		{"flags", func(n *yaml.Node, path string) { w.flags = r.letters(n, path) }},
		{"values", func(n *yaml.Node, path string) { w.values = r.letters(n, path) }},
		{"long", func(n *yaml.Node, path string) { w.long = r.nameSet(n, path) }},
		{"long_values", func(n *yaml.Node, path string) { w.longValues = r.nameSet(n, path) }},
		{"operands", func(n *yaml.Node, path string) { w.operands = r.Number(n, path, 0) }},
		{"numbers", yes(&w.numbers)},
		{"assigns", yes(&w.assigns)},
		{"appends", yes(&w.appends)},
		{"or_script", yes(&w.orScript)},
		{"joins", yes(&w.joins)},
		{"scripts", yes(&w.scripts)},
		{"shell", yes(&w.shell)},
		{"plain", yes(&w.plain)},
	}, nil)
	return w
}

// letters reads option letters, which YAML may take for a number.
func (r *reader) letters(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || strings.ContainsAny(n.Value, " -=") {
		r.Fail(n, path, "must be letters, one an option, without dashes, and is %s", strictyaml.Describe(n))
		return ""
	}
	return n.Value
}

// nameSet reads names with spaces between, or a list of them, without the dashes
// of long options.
func (r *reader) nameSet(n *yaml.Node, path string) map[string]bool {
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
