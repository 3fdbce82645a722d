package watch

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// palette holds the styles of the screen; a terminal without colours shows the same words.
type palette struct{ plain, label, dim, warning, bar, stale, selected, in, out, at lipgloss.Style }

var styles = palette{
	plain:    lipgloss.NewStyle(),
	label:    lipgloss.NewStyle().Bold(true),
	dim:      lipgloss.NewStyle().Faint(true),
	warning:  lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow),
	bar:      lipgloss.NewStyle().Reverse(true),
	stale:    lipgloss.NewStyle().Bold(true).Reverse(true).Foreground(lipgloss.Red),
	selected: lipgloss.NewStyle().Bold(true).Underline(true),
	in:       lipgloss.NewStyle().Foreground(lipgloss.Green),
	out:      lipgloss.NewStyle().Foreground(lipgloss.Red),
	at:       lipgloss.NewStyle().Foreground(lipgloss.Cyan),
}

func (p palette) of(sign byte) lipgloss.Style {
	switch sign {
	case '+':
		return p.in
	case '-':
		return p.out
	case '@':
		return p.at
	}
	return p.plain
}

// wrap cuts a line into rows of a width. Nothing is left out.
func wrap(line string, width int) []string {
	width = max(width, 4)
	var rows []string
	start, used := 0, 0
	for at, r := range line {
		wide := runeWidth(r)
		if used+wide > width && at > start {
			rows = append(rows, line[start:at])
			start, used = at, 0
		}
		used += wide
	}
	return append(rows, line[start:])
}

// cut shortens a line to a width, with an ellipsis at its end.
func cut(line string, width int) string {
	rows := wrap(line, width)
	if len(rows) == 1 {
		return line
	}
	return wrap(line, width-1)[0] + "…"
}

func runeWidth(r rune) int {
	if r < 0x80 {
		return 1
	}
	return lipgloss.Width(string(r))
}

func fill(line string, width int) string {
	line = cut(line, width)
	return line + strings.Repeat(" ", max(0, width-lipgloss.Width(line)))
}
