package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

// labelWidth is that of the widest speaker.
const labelWidth = 11

// Printer prints the lines of the demo. Text of models and reviewers is escaped.
type Printer struct {
	mu     sync.Mutex
	out    io.Writer
	prompt bool // the output ends with a prompt, without a line break
}

// Tell prints a line, below a prompt.
func (t *Printer) Tell(line Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompt {
		fmt.Fprintln(t.out)
		t.prompt = false
	}
	if line.Who == Heading {
		fmt.Fprintf(t.out, "\n== %s\n", sanitize.Lines(line.Text))
		return
	}
	text := textview.Indent(sanitize.Lines(strings.TrimSpace(line.Text)), labelWidth+1)
	fmt.Fprint(t.out, wrap(fmt.Sprintf("%-*s %s\n", labelWidth, line.Who, text), labelWidth+1))
}

const (
	lineWidth     = 80 // columns of a terminal that is not wide
	requestColumn = 13 // at which the values of a request begin
)

// wrap breaks lines at spaces, so that they fit into lineWidth, and indents what follows. A long word stays whole.
func wrap(text string, indent int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for i, word := range strings.Split(line, " ") {
			width := utf8.RuneCountInString(strings.TrimSuffix(word, "\n"))
			switch {
			case i == 0:
			case column > indent && column+1+width > lineWidth:
				b.WriteString("\n" + strings.Repeat(" ", indent))
				column = indent
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += width
		}
	}
	return b.String()
}

// NewPrinter returns a printer to out.
func NewPrinter(out io.Writer) *Printer { return &Printer{out: out} }

// say prints the demo's own words.
func (t *Printer) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	fmt.Fprint(t.out, text)
	t.prompt = !strings.HasSuffix(text, "\n")
}
