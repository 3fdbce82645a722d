package watch

import (
	"charm.land/lipgloss/v2"

	"github.com/heldcall/heldcall/internal/sanitize"
)

type footer struct {
	width int
	lines []string
}

func (f *footer) add(style lipgloss.Style, text string) {
	for _, line := range wrap(sanitize.Line(text), f.width) {
		f.lines = append(f.lines, style.Render(line))
	}
}
