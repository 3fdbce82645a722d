package effects

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

//go:embed tables/*.yaml
var tableFiles embed.FS

// program is what the tables state about a program.
type program struct {
	values    map[string]options // by subcommand; "" for all of them
	flags     map[string]bool    // not nil: every other long option takes a value
	long      bool               // a single dash begins a long option
	many      bool               // an option takes all words up to the next one
	paths     bool               // operands are paths, if a row does not state otherwise
	bare      bool               // options may be without a dash: tar xzf
	keys      bool               // operands KEY=VALUE are options
	fold      bool               // subcommands are compared without regard to case
	starts    bool               // it only starts the command that it is given
	rewritten string             // the words of another program that it stands for
	rows      []row
}

// options are those that take a value, those that may have one attached, as -i.bak, and how many operands there are before
// options end; 0: no limit.
type options struct {
	values   map[string]bool
	attached map[string]bool
	flags    map[string]bool // which take none, though those of the program do
	stop     int
}

// row is what one way to call a program does.
type row struct {
	words   [][]string // of the subcommand, each with its alternatives
	options []optionTest
	least   int // operands after the subcommand
	most    int // -1: no limit
	effects []statement
}

// optionTest is an option that a call must have, in one of several ways, or must not have.
type optionTest struct {
	names  []string
	values []string // by name: that it must have, "" for any
	absent bool
}

// statement is one effect of a row.
type statement struct {
	kind    approvals.EffectKind
	targets []targetRule
	undo    Undo
	risk    approvals.Risk // "": that of its kind
}

// targetRule is where the target of an effect is found in a command.
type targetRule struct {
	places   []string // alternatives: see subject.find
	form     string   // how the word is read: see subject.form
	optional bool     // without it there is no such effect
}

// Undo is whether a person can take an effect back.
type Undo string

// The values of Undo. The zero value is that of the kind of effect.
const (
	Reversible   Undo = "yes"
	Irreversible Undo = "no"
	Uncertain    Undo = "unknown"
)

// The kinds that rows have beside those of effects.
const (
	innerCommand approvals.EffectKind = "inner"   // another command, whose words the operands are
	copied       approvals.EffectKind = "copy"    // from and to machines or files
	mirrored     approvals.EffectKind = "mirror"  // the same, and what the source lacks is destroyed
	statementsOf approvals.EffectKind = "sql"     // statements of a database
	codeOf       approvals.EffectKind = "code"    // a text in a programming language
	hooks        approvals.EffectKind = "hooks"   // of git, which are code of the project
	handled      approvals.EffectKind = "handled" // by a function of this package: see handlers
)

var statedKinds = []approvals.EffectKind{
	approvals.EffectNone, approvals.EffectRead, approvals.EffectWrite, approvals.EffectDestroy, approvals.EffectFetch, approvals.EffectSend,
	approvals.EffectInstall, approvals.EffectCheck, approvals.EffectRun, approvals.EffectPrivilege, approvals.EffectSecret, approvals.EffectUnknown,
	innerCommand, copied, mirrored, statementsOf, codeOf, hooks, handled,
}

// tables are all programs, by name.
var tables = sync.OnceValue(readTables)

func readTables() map[string]*program {
	all := map[string]*program{}
	files, err := tableFiles.ReadDir("tables")
	if err != nil {
		panic("internal error: the tables of effects: " + err.Error())
	}
	for _, file := range files {
		content, err := tableFiles.ReadFile("tables/" + file.Name())
		if err != nil {
			panic("internal error: the tables of effects: " + err.Error())
		}
		r := &strictyaml.Reader{File: file.Name()}
		readTable(r, content, all)
		if len(r.Errors) > 0 {
			panic("internal error: the tables of effects are not well formed: " + r.Errors.Error())
		}
	}
	return all
}

// readTable adds the programs of a file. A key has the names of programs that are called alike.
func readTable(r *strictyaml.Reader, content []byte, all map[string]*program) {
	root := r.Root(content)
	if root == nil {
		return
	}
	r.Members(root, "", func(names, value *yaml.Node, path string) {
		p := &program{values: map[string]options{}}
		p.read(r, value, path)
		for name := range strings.FieldsSeq(names.Value) {
			if all[name] != nil {
				r.Fail(names, path, "lists %s, which is in the tables already", name)
			}
			all[name] = p
		}
	})
}

func (p *program) read(r *strictyaml.Reader, n *yaml.Node, path string) {
	words := func(visit func(word string)) func(*yaml.Node, string) {
		return func(n *yaml.Node, _ string) {
			for word := range strings.FieldsSeq(n.Value) {
				visit(word)
			}
		}
	}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "values", Read: func(n *yaml.Node, path string) { p.readValues(r, n, path) }},
		{Name: "flags", Read: words(func(word string) {
			if p.flags == nil {
				p.flags = map[string]bool{}
			}
			p.flags[word] = true
		})},
		{Name: "long", Read: r.SetBool(&p.long)},
		{Name: "many", Read: r.SetBool(&p.many)},
		{Name: "paths", Read: r.SetBool(&p.paths)},
		{Name: "bare", Read: r.SetBool(&p.bare)},
		{Name: "keys", Read: r.SetBool(&p.keys)},
		{Name: "fold", Read: r.SetBool(&p.fold)},
		{Name: "starts", Read: r.SetBool(&p.starts)},
		{Name: "as", Read: r.SetText(&p.rewritten)},
		{Name: "calls", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(key, value *yaml.Node, path string) {
				for call := range strings.SplitSeq(key.Value, ",") {
					row, err := p.readRow(call, value.Value)
					if err != nil {
						r.Fail(key, path, "%v", err)
					}
					p.rows = append(p.rows, row)
				}
			})
		}},
	})
}

// readValues reads the options with values: as text for all subcommands, or by subcommand.
func (p *program) readValues(r *strictyaml.Reader, n *yaml.Node, path string) {
	read := func(subcommand, text string) {
		o := options{values: map[string]bool{}, attached: map[string]bool{}, flags: map[string]bool{}}
		for word := range strings.FieldsSeq(text) {
			name, optional := strings.CutSuffix(word, "?")
			switch stop, isStop := strings.CutPrefix(word, "+"); {
			case isStop:
				o.stop = int(stop[0] - '0')
			case optional:
				o.attached[name] = true
			case word[0] == '!': // a flag here, and an option with a value elsewhere
				o.flags[word[1:]] = true
			default:
				o.values[word] = true
			}
		}
		for name := range strings.SplitSeq(subcommand, "|") {
			p.values[name] = o
		}
	}
	if n.Kind == yaml.ScalarNode {
		read("", n.Value)
		return
	}
	r.Members(n, path, func(name, value *yaml.Node, _ string) { read(name.Value, value.Value) })
}

// readRow reads a row: the call, and its effects.
func (p *program) readRow(key, value string) (row, error) {
	r := row{most: -1}
	for word := range strings.FieldsSeq(key) {
		r.addTest(word)
	}
	for text := range strings.SplitSeq(value, ",") {
		s, err := p.readStatement(text)
		if err != nil {
			return r, err
		}
		r.effects = append(r.effects, s)
	}
	return r, nil
}

// readStatement reads an effect: its kind, its targets, and behind a semicolon whether it can be undone, and its risk.
func (p *program) readStatement(text string) (s statement, err error) {
	stated, settings, _ := strings.Cut(text, ";")
	fields := strings.Fields(stated)
	if len(fields) == 0 || !slices.Contains(statedKinds, approvals.EffectKind(fields[0])) {
		return s, fmt.Errorf("%q does not begin with a kind of effect", text)
	}
	s.kind = approvals.EffectKind(fields[0])
	for word := range strings.FieldsSeq(settings) {
		switch {
		case slices.Contains([]Undo{Reversible, Irreversible, Uncertain}, Undo(word)):
			s.undo = Undo(word)
		case slices.Contains(rising, approvals.Risk(word)):
			s.risk = approvals.Risk(word)
		default:
			return s, fmt.Errorf("%q is neither a risk nor yes, no or unknown", word)
		}
	}
	for _, field := range fields[1:] {
		s.targets = append(s.targets, p.readTarget(field, s.kind))
	}
	return s, nil
}

// addTest reads one word of a call.
func (r *row) addTest(word string) {
	switch {
	case word[0] == '=' && len(word) > 1:
		r.least = int(word[1] - '0')
		if !strings.HasSuffix(word, "+") {
			r.most = r.least
		}
	case word[0] == '-' || strings.HasPrefix(word, "!-"):
		test := optionTest{absent: word[0] == '!'}
		for option := range strings.SplitSeq(strings.TrimPrefix(word, "!"), "|") {
			name, value, _ := strings.Cut(option, "=")
			test.names, test.values = append(test.names, name), append(test.values, value)
		}
		r.options = append(r.options, test)
	case word == "~": // any call
	default:
		r.words = append(r.words, strings.Split(word, "|"))
	}
}

func (p *program) readTarget(text string, kind approvals.EffectKind) targetRule {
	text, optional := strings.CutSuffix(text, "?")
	places, form := text, ""
	if at := strings.LastIndexByte(text, '/'); at >= 0 { // of each alternative
		form = text[at+1:]
		places = strings.ReplaceAll(text, text[at:], "")
	}
	if form == "" && p.paths && !strings.HasPrefix(places, "-") && kind != innerCommand && kind != codeOf && kind != statementsOf {
		form = "path"
	}
	return targetRule{strings.Split(places, "|"), form, optional}
}
