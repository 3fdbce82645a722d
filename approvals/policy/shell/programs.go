package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/approvals/policy/shell/quoting"
	"github.com/heldcall/heldcall/approvals/policy/shell/straightline"
)

// Programs parses scripts by a table of programs.
type Programs struct {
	*programs.Table
	parsers  *sync.Pool // of *syntax.Parser
	straight bool       // parse the straight line of scripts
}

// KnownPrograms parses by the built-in table.
var KnownPrograms = sync.OnceValue(func() *Programs {
	return &Programs{Table: programs.Known(), parsers: &sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)) }}}
})

// With parses by the table with programs added, or others in place of known ones.
func (t *Programs) With(options map[string]*programs.Program) *Programs {
	return &Programs{Table: t.Table.With(options), parsers: t.parsers, straight: t.straight}
}

// Straight parses the straight line of scripts in their place: see [straightline.Reader.Of].
func (t *Programs) Straight() *Programs {
	return &Programs{Table: t.Table, parsers: t.parsers, straight: true}
}

func (t *Programs) parseSource(src string) (*syntax.File, error) {
	parser := t.parsers.Get().(*syntax.Parser)
	defer t.parsers.Put(parser)
	return parser.Parse(strings.NewReader(src), "")
}

// unknown replaces text that only the running shell knows.
const unknown = quoting.Unknown

type word = quoting.Word

func (t *Programs) straightener() *straightline.Reader {
	return &straightline.Reader{Parse: t.parseSource, Limit: MaxScript, OnlyLook: func(a *syntax.Assign) bool { return setsOnlyLook(&t.Variables, a) }}
}

// straightLine returns the straight line of a script, or the script if it has none.
func (t *Programs) straightLine(src string) string {
	joined := t.joinLines(src)
	if scriptProblem(joined) != "" {
		return src
	}
	if text, ok := t.straightener().Of(joined); ok {
		return text
	}
	return src
}

// joinLines joins lines that a backslash continues: see [straightline.Reader.Join].
func (t *Programs) joinLines(src string) string {
	if !strings.Contains(src, "\\\n") || len(src) > MaxScript || opened(src) > maxOpen || strings.Contains(src, unknown) {
		return src
	}
	return t.straightener().Join(src)
}
