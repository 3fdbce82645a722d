package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"

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
	fmt.Fprintf(t.out, "%-*s %s\n", labelWidth, line.Who, text)
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
