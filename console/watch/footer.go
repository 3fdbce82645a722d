package watch

import (
	"charm.land/lipgloss/v2"

	"github.com/heldcall/heldcall/internal/sanitize"
)

// footer collects the lines below the list or the page.
type footer struct {
	width int
	lines []string
}

// add adds a text, wrapped, in a style.
func (f *footer) add(style lipgloss.Style, text string) {
	for _, line := range wrap(sanitize.Line(text), f.width) {
		f.lines = append(f.lines, style.Render(line))
	}
}
