package programs

import (
	_ "embed"
	"maps"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed programs.yaml
var programsFile []byte

//go:embed builds.yaml
var buildsFile []byte

// Known is the built-in table. It never changes.
var Known = sync.OnceValue(func() *Table {
	t := &Table{
		options: map[string]*Program{}, wrappers: map[string]*Wrapper{}, like: map[string][]string{},
	}
	builds := &strictyaml.Reader{File: "builds.yaml"}
	builds.Mapping(builds.Root(buildsFile), "", []strictyaml.Key{
		{Name: "options", Read: func(n *yaml.Node, path string) { readPrograms(builds, n, path, t.options, nil) }},
	})
	r := &strictyaml.Reader{File: "programs.yaml"}
	r.Mapping(r.Root(programsFile), "", []strictyaml.Key{
		{Name: "options", Read: func(n *yaml.Node, path string) { readPrograms(r, n, path, t.options, nil) }},
		{Name: "wrappers", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { t.wrappers[name.Value] = readWrapper(r, value, path) })
		}},
		{Name: "shells", Read: setNames(r, &t.shells)},
		{Name: "interpreters", Read: setNames(r, &t.interpreters)},
		{Name: "runners", Read: setNames(r, &t.runners)},
		{Name: "environment", Read: setNames(r, &t.Variables.look)},
		{Name: "environment_values", Read: setNames(r, &t.Variables.settings)},
		{Name: "search_paths", Read: setNames(r, &t.Variables.searchPaths)},
		{Name: "writers", Read: setNames(r, &t.writers)},
		{Name: "searchers", Read: setNames(r, &t.searchers)},
		{Name: "recursive", Read: setNames(r, &t.recursive)},
		{Name: "pattern_first", Read: setNames(r, &t.patternFirst)},
		{Name: "like", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, _ string) { t.like[name.Value] = strings.Fields(value.Value) })
		}},
	})
	readClasses(r, t)
	maps.Copy(t.interpreters, t.shells)
	maps.Copy(t.runners, t.interpreters)
	for name := range t.wrappers {
		t.runners[name] = true
	}
	for _, errors := range []strictyaml.Errors{builds.Errors, r.Errors, t.readCoverage()} {
		if len(errors) > 0 {
			panic("internal error: the table of programs is not well formed: " + errors.Error())
		}
	}
	return t
})

// ReadGiven reads what a policy states of programs: their options, and what classes.yaml states of others.
func ReadGiven(r *strictyaml.Reader, n *yaml.Node, path string, to map[string]*Program) {
	readPrograms(r, n, path, to, givenKeys)
}

// moreKeys are keys of programs beside those of the table of options.
type moreKeys func(r *strictyaml.Reader, p *Program) []strictyaml.Key

// readPrograms reads the options of programs by name.
func readPrograms(r *strictyaml.Reader, n *yaml.Node, path string, to map[string]*Program, more moreKeys) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		if strings.ContainsAny(name.Value, "/* ") {
			r.Fail(name, path, "must be the name of a program, without folder")
			return
		}
		to[name.Value] = readProgram(r, value, path, more)
	})
}

// givenKeys are the keys that only a policy may have.
func givenKeys(r *strictyaml.Reader, p *Program) []strictyaml.Key {
	return []strictyaml.Key{
		{Name: "class", Read: func(n *yaml.Node, path string) {
			var names []string
			for _, class := range classes {
				names = append(names, string(class))
			}
			p.given.class = Class(r.OneOf(n, path, names))
		}},
		{Name: "paths", Read: func(n *yaml.Node, path string) {
			p.given.paths = Operands(r.OneOf(n, path, []string{string(NoPaths), string(FirstPaths), string(LastPath), string(ReadPaths)}))
		}},
		{Name: "skip", Read: func(n *yaml.Node, path string) { p.given.skip = r.Number(n, path, 0) }},
		{Name: "wraps", Read: r.SetBool(&p.given.wraps)},
	}
}

func readProgram(r *strictyaml.Reader, n *yaml.Node, path string, more moreKeys) *Program {
	p := &Program{operands: operandRules{most: -1}}
	keys := optionKeys(r, p)
	if more != nil {
		keys = append(keys, more(r, p)...)
	}
	r.Mapping(n, path, append(keys, []strictyaml.Key{
		{Name: "words", Read: setNames(r, &p.words)},
		{Name: "word_values", Read: setNames(r, &p.valued.words)},
		{Name: "long_values", Read: setNames(r, &p.longValues)},
		{Name: "folder", Read: func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				p.folders = strings.Fields(text)
			}
		}},
		{Name: "script", Read: r.SetText(&p.script)},
		{Name: "prints", Read: r.SetBool(&p.prints)},
		{Name: "outputs", Read: func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				p.outputs = map[string]bool{}
				for _, option := range strings.Fields(text) {
					p.outputs[option] = true
				}
			}
		}},
		{Name: "after", Read: func(n *yaml.Node, path string) { p.after = readProgram(r, n, path, nil) }},
		{Name: "limited", Read: func(n *yaml.Node, path string) {
			p.valued.limited = map[string][]string{}
			r.Members(n, path, func(name, value *yaml.Node, _ string) { p.valued.limited[name.Value] = strings.Fields(value.Value) })
		}},
		{Name: "bundled", Read: r.SetBool(&p.forms.bundled)},
		{Name: "dashes", Read: r.SetBool(&p.forms.dashes)},
		{Name: "spell", Read: func(n *yaml.Node, path string) { p.spell = r.Number(n, path, 0) }},
		{Name: "most", Read: func(n *yaml.Node, path string) { p.operands.most = r.Number(n, path, 0) }},
		{Name: "begins", Read: r.SetText(&p.operands.begins)},
		{Name: "never", Read: func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path); ok {
				p.operands.never = strings.Fields(text)
			}
		}},
		{Name: "commands", Read: func(n *yaml.Node, path string) {
			p.commands = map[string]*Program{}
			readPrograms(r, n, path, p.commands, more)
		}},
	}...))
	return p
}

func readWrapper(r *strictyaml.Reader, n *yaml.Node, path string) *Wrapper {
	w := &Wrapper{}
	r.Mapping(n, path, append(optionKeys(r, &w.Options), []strictyaml.Key{
		{Name: "long_values", Read: setNames(r, &w.Options.longValues)},
		{Name: "operands", Read: func(n *yaml.Node, path string) { w.Operands = r.Number(n, path, 0) }},
		{Name: "assigns", Read: r.SetBool(&w.Assigns)},
		{Name: "appends", Read: r.SetBool(&w.Appends)},
		{Name: "or_script", Read: r.SetBool(&w.OrScript)},
		{Name: "joins", Read: r.SetBool(&w.Joins)},
		{Name: "scripts", Read: r.SetBool(&w.Scripts)},
		{Name: "shell", Read: r.SetBool(&w.Shell)},
		{Name: "plain", Read: r.SetBool(&w.Transparent)},
		{Name: "own", Read: setNames(r, &w.own)},
	}...))
	return w
}

// optionKeys are the keys of the options of any program.
func optionKeys(r *strictyaml.Reader, p *Program) []strictyaml.Key {
	return []strictyaml.Key{
		{Name: "flags", Read: setLetters(r, &p.flags)},
		{Name: "values", Read: setLetters(r, &p.values)},
		{Name: "long", Read: setNames(r, &p.long)},
		{Name: "numbers", Read: r.SetBool(&p.forms.numbers)},
	}
}

// setLetters reads option letters, which YAML may read as a number.
func setLetters(r *strictyaml.Reader, to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || strings.ContainsAny(n.Value, " -=") {
			r.Fail(n, path, "must be letters, one for each option, without dashes, and is %s", strictyaml.Describe(n))
			return
		}
		*to = n.Value
	}
}

// setNames reads names separated by spaces, or a list of them, with or without --.
func setNames(r *strictyaml.Reader, to *map[string]bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		all := map[string]bool{}
		*to = all
		if n.Kind == yaml.ScalarNode {
			for _, name := range strings.Fields(n.Value) {
				all[name] = true
			}
			return
		}
		r.List(n, path, "names", func(n *yaml.Node, path string) {
			if name, ok := r.Text(n, path); ok {
				all[strings.TrimPrefix(name, "--")] = true
			}
		})
	}
}
