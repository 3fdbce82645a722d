package rule

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

type lists struct {
	deny, ask, allow, rewrite []*Pattern
	redact, taint             []*Pattern // of results
}

type ruleReader struct {
	*reader
	in    *Set
	rule  *Rule
	to    *lists
	has   map[*[]*Pattern]bool // the lists that the rule has
	later []func()             // reads the patterns: what they mean depends on the rule's settings
	only  []setting            // settings that are about one list

	limitAt    *yaml.Node // the limit, if there is one
	escalateAt *yaml.Node // the escalate, if there is one
}

// setting is a key of a rule that applies to one list only.
type setting struct {
	line int
	path string
	list *[]*Pattern
	name string // of the list
}

// about reads a setting that applies to one list only.
func (r *ruleReader) about(list *[]*Pattern, name string, read func(*yaml.Node, string)) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		read(n, path)
		r.only = append(r.only, setting{n.Line, path, list, name})
	}
}

func (r *ruleReader) question(read func(*yaml.Node, string)) func(*yaml.Node, string) {
	return r.about(&r.to.ask, "ask", read)
}

func (r *reader) names(n *yaml.Node, path string) []string {
	names := r.texts(n, path, "reviewers")
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *reader) texts(n *yaml.Node, path, of string) []string {
	var texts []string
	r.List(n, path, of, func(item *yaml.Node, path string) {
		if text, ok := r.Text(item, path); ok {
			texts = append(texts, text)
		}
	})
	return texts
}

type reader struct{ strictyaml.Reader }

func newReader(file string) *reader { return &reader{strictyaml.Reader{File: file}} }
