package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/elapsed"
	"github.com/heldcall/heldcall/internal/visible"
)

// palette is how things look; a terminal without colours shows the same words.
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

// of is the style of a line of a difference.
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

// View draws the screen.
func (m Model) View() tea.View {
	body := m.body()
	for len(body) < m.bodyHeight() {
		body = append(body, "")
	}
	lines := append(m.head(), body[:m.bodyHeight()]...)
	view := tea.NewView(strings.Join(append(lines, m.foot()...), "\n"))
	view.AltScreen = true
	view.WindowTitle = fmt.Sprintf("heldcall: %d waiting", m.waiting())
	return view
}

func (m Model) body() []string {
	switch {
	case m.mode == helping:
		lines := strings.Split(help, "\n")
		for i := range lines {
			lines[i] = cut(lines[i], m.width)
		}
		return lines
	case m.detail:
		return slices.Clone(m.page.lines[m.top:min(len(m.page.lines), m.top+m.bodyHeight())])
	}
	return m.list()
}

// bodyHeight is how many lines are between head and foot.
func (m Model) bodyHeight() int { return max(1, m.height-2-len(m.foot())) }

func (m Model) waiting() int {
	n := 0
	for id := range m.requests {
		if m.requests[id].Status == approvals.StatusPending {
			n++
		}
	}
	return n
}

// head is who looks, whether it is current, and what the body is.
func (m Model) head() []string {
	who := m.me.Name
	if m.me.Role != "" {
		who += ", " + string(m.me.Role)
	}
	bar := fmt.Sprintf(" heldcall · %d waiting · %s", m.waiting(), who)
	style := styles.bar
	switch {
	case !m.connected && m.since.IsZero():
		bar += " · connecting"
	case !m.connected:
		bar += fmt.Sprintf(" · DISCONNECTED %s, retrying", elapsed.Ago(m.now.Sub(m.since)))
		style = styles.stale
	}
	return []string{style.Render(fill(visible.Line(bar), m.width)), m.headline()}
}

// headline is the names of the columns, or what the request in full is about.
func (m Model) headline() string {
	r := m.current()
	if m.mode == helping {
		return ""
	}
	if !m.detail || r == nil {
		return styles.dim.Render(cut(row("AGE", "RISK", "LEFT", "AGENT", "TOOL", "PREVIEW"), m.width))
	}
	stands := elapsed.Left(r.ExpiresAt.Sub(m.now)) + " left, then " + r.TimeoutOutcome()
	if r.Status.Final() {
		stands = ending(r)
	}
	line := fmt.Sprintf("%s · %s risk · %s", r.ToolName, r.RiskLevel, stands)
	if r.RuleTitle() != "" {
		line = r.Title + " · " + line
	}
	if place, of := m.placeInTurn(r); of > 1 {
		line += fmt.Sprintf(" · call %d of %d of one answer", place, of)
	}
	return styles.label.Render(cut(visible.Line(line), m.width))
}

// placeInTurn is which call of its answer a request is, of those that are known.
func (m Model) placeInTurn(r *approvals.Request) (place, of int) {
	for id := range m.requests {
		other := m.requests[id]
		if turnOf(&other) == turnOf(r) {
			of++
			if id <= r.ID {
				place++
			}
		}
	}
	return place, of
}

// row is one line of the list. Its parts are safe for a terminal.
func row(age, risk, left, agent, tool, preview string) string {
	return fmt.Sprintf("%4s %-8s %6s %s %s %s", age, risk, left, fill(agent, 10), fill(tool, 14), preview)
}

// list is a line for each request, and the selected one among them.
func (m Model) list() []string {
	all := m.listed()
	if len(all) == 0 {
		if m.filter != "" {
			return []string{"", "  No match. Esc shows all."}
		}
		return []string{"", "  Nothing to review. Requests appear here as they arrive."}
	}
	at := max(0, slices.IndexFunc(all, func(r approvals.Request) bool { return r.ID == m.selected }))
	first := max(0, min(at-m.bodyHeight()/2, len(all)-m.bodyHeight()))
	var lines []string
	for i := first; i < len(all) && len(lines) < m.bodyHeight(); i++ {
		lines = append(lines, m.listRow(all, i))
	}
	return lines
}

func (m Model) listRow(all []approvals.Request, i int) string {
	r := &all[i]
	tool := visible.Line(r.ToolName)
	if i > 0 && turnOf(&all[i-1]) == turnOf(r) { // calls of one answer hang together
		tool = "└ " + tool
	}
	left := elapsed.Left(r.ExpiresAt.Sub(m.now))
	if r.Status.Final() {
		left = string(r.Status)
	}
	preview := r.ArgsPreview
	if r.RuleTitle() != "" {
		preview = r.Title + " · " + preview
	}
	if len(r.Details.Flags) > 0 {
		preview = "! " + preview
	}
	line := cut(row(elapsed.Ago(m.now.Sub(r.CreatedAt)), visible.Line(string(r.RiskLevel)), left,
		visible.Line(cmp.Or(r.Principal.Agent, "–")), tool, visible.Line(preview)), m.width-2)
	switch {
	case r.ID == m.selected:
		return styles.selected.Render("> " + line)
	case r.RiskLevel == approvals.RiskCritical || r.RiskLevel == approvals.RiskHigh:
		return styles.out.Render("  " + line)
	}
	return "  " + line
}

// foot is what is asked of the reviewer, what happened last, and the keys.
func (m Model) foot() []string {
	var lines []string
	add := func(style lipgloss.Style, text string) {
		for _, line := range wrap(visible.Line(text), m.width) {
			lines = append(lines, style.Render(line))
		}
	}
	keys := "j k move · Enter open · / filter · ? keys · q quit"
	switch {
	case m.mode == helping:
		keys = "any key goes back"
	case m.mode == noting:
		add(styles.label, "Why is it denied? The model reads it: "+m.input+"▏")
		keys = "Enter deny · Esc cancel"
	case m.mode == filtering:
		add(styles.label, "Show only what has: "+m.input+"▏")
		keys = "Enter keeps it · Esc shows all"
	case m.mode == remembering:
		add(styles.label, fmt.Sprintf("From now on, for %s, %s:", m.current().Whose(m.memory.scopes[m.memory.scope]), m.memory.howLong()))
		for i, chosen := range m.memory.chosen {
			add(styles.plain, fmt.Sprintf("%d [%s] %s", i+1, map[bool]string{true: "x", false: " "}[chosen], m.memory.patterns[i]))
		}
		keys = "1-9 toggle · t custom · s scope · l how long · a allow · d deny · Esc back"
	case m.mode == patterning:
		add(styles.label, "Calls like, such as "+m.example()+": "+m.input+"▏")
		keys = "Enter add · Esc cancel"
	case m.mode == confirming:
		keys = "Enter releases the call so · e edit again · Esc leave it · arrows scroll"
	case m.detail:
		keys = "a approve · d deny · e edit · r remember · v JSON · Esc list · ? keys"
		if r := m.current(); r != nil && !r.Status.Final() {
			if why := m.hindrance(r); why != "" {
				add(styles.label, sentence(why))
				keys = "v JSON · Esc list · ? keys"
			} else if why := m.spent(r); why != "" {
				add(styles.label, sentence(why))
				keys = "d deny · v JSON · Esc list · ? keys"
			}
		}
	}
	if r := m.current(); m.mode.asks() && (r == nil || r.Status.Final()) {
		keys = "it has ended · Enter or Esc goes back"
	}
	if m.notice != "" {
		add(styles.warning, m.notice)
	}
	if m.detail && m.mode != helping && m.top+m.height-3-len(lines) < len(m.page.lines) {
		keys = "↓ more · " + keys
	}
	return append(lines, styles.dim.Render(cut(keys, m.width)))
}

// fill makes a line exactly as wide as asked.
func fill(line string, width int) string {
	line = cut(line, width)
	return line + strings.Repeat(" ", max(0, width-lipgloss.Width(line)))
}
