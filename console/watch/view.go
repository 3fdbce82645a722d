package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

const help = `In the list
  j k, arrows   down, up            Enter, l   open it
  /             filter; Esc shows all
  q             quit

One request
  j k           next, previous      Esc, h     back to the list
  arrows, Space, PgUp, PgDn, g, G   scroll
  v             the arguments as JSON, and back

Deciding
  a   approve; the rest of a long call is shown first; answer a question
  d   deny, with a note that the model reads; Enter sends it
  w   answer in words: the call does not run, and is not denied
  e   edit the arguments in $VISUAL or $EDITOR; the changes are shown
  r   remember: allow or deny such calls from now on
  t   approve; for 15 minutes the run may read and write in the workspace
  A   all calls of one question at once: a approves, d denies them

?   these keys                      Ctrl-C     quit`

// View draws the screen.
func (m Model) View() tea.View {
	height := m.review.bodyHeight(m.list.current())
	body := m.body(height)
	for len(body) < height {
		body = append(body, "")
	}
	lines := append(m.head(), body[:height]...)
	lines = append(lines, m.review.foot(m.list.current())...)
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	view.WindowTitle = fmt.Sprintf("heldcall: %d waiting", m.list.waiting())
	return view
}

func (m *Model) body(height int) []string {
	switch {
	case m.review.question.mode == helping:
		lines := strings.Split(help, "\n")
		for i := range lines {
			lines[i] = cut(lines[i], m.review.width)
		}
		return lines
	case m.review.open:
		return m.review.pager.lines(height)
	}
	return m.rows(height)
}

func (m *Model) head() []string {
	who := m.review.me.Name
	if m.review.me.Role != "" {
		who += ", " + string(m.review.me.Role)
	}
	style := styles.bar
	status, stale := m.connection.status(m.now)
	if stale {
		style = styles.stale
	}
	bar := fmt.Sprintf(" heldcall · %d waiting · %s%s", m.list.waiting(), who, status)
	return []string{style.Render(fill(sanitize.Line(bar), m.review.width)), m.headline()}
}

func (m *Model) headline() string {
	r := m.list.current()
	if m.review.question.mode == helping {
		return ""
	}
	if !m.review.open || r == nil {
		return styles.dim.Render(cut(row("ID", "AGE", "RISK", "LEFT", "AGENT", "TOOL", "PREVIEW"), m.review.width))
	}
	if m.review.run.on() {
		return styles.label.Render(cut(sanitize.Line(m.review.run.headline(&m.list)), m.review.width))
	}
	status := expiry(r, humanize.Left(r.ExpiresAt.Sub(m.now)))
	if r.Status.Final() {
		status = ending(r)
	}
	line := fmt.Sprintf("%s · %s risk · %s", r.ToolName, r.RiskLevel, status)
	switch {
	case r.Asks():
		line = r.Headline() + " · " + status
	case r.RuleTitle() != "":
		line = r.Title + " · " + line
	}
	if place, of := m.list.placeInQuestion(r); of > 1 {
		line += fmt.Sprintf(" · call %d of %d · A all", place, of)
	}
	return styles.label.Render(cut(sanitize.Line(line), m.review.width))
}

func expiry(r *approvals.Request, left string) string {
	if r.OnTimeout == approvals.OnTimeoutApprove {
		return approvals.WordsFor(r.Kind).Automatic + " in " + left
	}
	return "expires in " + left + " (" + r.IfExpired() + ")"
}

// row is one line of the list. Its parts are safe for a terminal.
func row(id, age, risk, left, agent, tool, preview string) string {
	return fmt.Sprintf("%-6s %4s %-8s %6s %s %s %s", id, age, risk, left, fill(agent, 7), fill(tool, 11), preview)
}

func (m *Model) rows(height int) []string {
	all := m.list.listed()
	if len(all) == 0 {
		if m.list.filter != "" {
			return []string{"", "  No match. Esc shows all."}
		}
		return []string{"", "  Nothing to review. Requests appear here as they arrive."}
	}
	at := max(0, slices.IndexFunc(all, func(r approvals.Request) bool { return r.ID == m.list.selected }))
	first := max(0, min(at-height/2, len(all)-height))
	var lines []string
	for i := first; i < len(all) && len(lines) < height; i++ {
		r := &all[i]
		line := cut(requestRow(r, i > 0 && runOf(&all[i-1]) == runOf(r), m.now), m.review.width-2)
		switch {
		case r.ID == m.list.selected:
			line = styles.selected.Render("> " + line)
		case r.RiskLevel == approvals.RiskCritical || r.RiskLevel == approvals.RiskHigh:
			line = styles.out.Render("  " + line)
		default:
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return lines
}

func requestRow(r *approvals.Request, sameRun bool, now time.Time) string {
	left := humanize.Left(r.ExpiresAt.Sub(now))
	if r.Status.Final() {
		left = string(r.Status)
	}
	tool, preview := sanitize.Line(r.ToolName), r.ArgsPreview
	switch {
	case r.Asks():
		tool, preview = "question", r.Headline()
	case r.RuleTitle() != "":
		preview = r.Title + " · " + preview
	}
	if sameRun {
		tool = "└ " + tool
	}
	if r.Agent != nil && r.Agent.State != approvals.AgentAttached {
		preview = string(r.Agent.State) + " " + humanize.Ago(now.Sub(r.Agent.Since)) + " · " + preview
	}
	if len(r.Details.Flags) > 0 {
		preview = "! " + preview
	}
	return row(sanitize.Line(approvals.ShortID(r.ID)), humanize.Ago(now.Sub(r.CreatedAt)), sanitize.Line(string(r.RiskLevel)), left,
		sanitize.Line(cmp.Or(r.Principal.Agent, "–")), tool, sanitize.Line(preview))
}
