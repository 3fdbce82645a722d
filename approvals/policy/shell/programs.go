package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Programs parses scripts by a table of programs.
type Programs struct {
	*programs.Table
	parsers *sync.Pool // of *syntax.Parser
}

// KnownPrograms parses by the built-in table.
var KnownPrograms = sync.OnceValue(func() *Programs {
	return &Programs{Table: programs.Known(), parsers: &sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)) }}}
})

// With parses by the table with programs added, or others in place of known ones.
func (t *Programs) With(options map[string]*programs.Program) *Programs {
	return &Programs{Table: t.Table.With(options), parsers: t.parsers}
}

func (t *Programs) parseSource(src string) (*syntax.File, error) {
	parser := t.parsers.Get().(*syntax.Parser)
	defer t.parsers.Put(parser)
	return parser.Parse(strings.NewReader(src), "")
}
