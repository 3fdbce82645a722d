package watch

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

const help = `In the list
  j k, arrows   down, up            Enter, l   open it
  /             show only what has a word; Esc shows all again
  q             quit

One request
  j k           next, previous      Esc, h     back to the list
  arrows, Space, PgUp, PgDn, g, G   scroll
  v             the arguments as JSON, and back

Deciding
  a   approve; what was not on the screen yet is shown first
  d   deny, with a note that the model reads; Enter sends it
  e   edit the arguments in $VISUAL or $EDITOR; what changes is shown
  r   remember: allow or deny such calls from now on

?   these keys                      Ctrl-C     quit`

// key does what a key means just now. Nothing can be decided before the keys pause:
// who types on has not looked at what is shown.
func (m Model) key(key tea.KeyPressMsg) (Model, tea.Cmd) {
	if key.String() == "ctrl+c" {
		return m, tea.Quit
	}
	if m.settling == 0 {
		return m.pressed(key)
	}
	m, again := m.settle()
	m, cmd := m.pressed(key)
	return m, tea.Batch(again, cmd)
}

func (m Model) pressed(key tea.KeyPressMsg) (Model, tea.Cmd) {
	if r := m.current(); m.mode.asks() && (r == nil || r.Status.Final()) {
		return m.leave(key)
	}
	switch m.mode {
	case noting, filtering, patterning:
		return m.typed(key)
	case remembering:
		return m.remember(key)
	case confirming:
		return m.confirm(key)
	case helping:
		m.mode = browsing
		return m.settle() // another request may have come behind it
	}
	m.notice = ""
	if m.detail {
		return m.keyInDetail(key)
	}
	return m.keyInList(key)
}

// leave is the keys of a question about a request that has ended.
func (m Model) leave(key tea.KeyPressMsg) (Model, tea.Cmd) {
	if name := key.String(); name != "esc" && name != "enter" {
		return m, nil
	}
	m.mode, m.input, m.draft, m.top, m.seen = browsing, "", nil, 0, 0
	return m.settle()
}

func (m Model) keyInList(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch key.String() {
	case "q":
		return m, tea.Quit
	case "?":
		m.mode = helping
	case "j", "down":
		m = m.step(1)
	case "k", "up":
		m = m.step(-1)
	case "/":
		m.mode, m.input = filtering, m.filter
	case "esc":
		m.filter = ""
	case "enter", "l", "right", "a", "d", "e", "r", "v":
		if m.current() == nil {
			m = m.step(0)
		}
		if m.current() != nil {
			m.detail, m.top, m.seen = true, 0, 0
			return m.settle()
		}
	}
	return m, nil
}

func (m Model) keyInDetail(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch key.String() {
	case "q", "esc", "h", "left":
		selected := m.selected
		m.detail = false
		if r := m.current(); r != nil && r.Status.Final() {
			selected = m.neighbour(selected, 1)
		}
		m = m.open(selected)
	case "?":
		m.mode = helping
	case "j":
		return m.step(1).settle()
	case "k":
		return m.step(-1).settle()
	case "v":
		m.raw, m.top, m.seen = !m.raw, 0, 0
	case "a":
		return m.approve()
	case "d":
		if m.mayDecide(false) {
			m.mode, m.input = noting, ""
		}
	case "e":
		return m.edit(m.arguments())
	case "r":
		m = m.beginRemembering()
	default:
		m.top = m.scrolled(key)
	}
	return m, nil
}

// scrolled is the first line on the screen after a key that scrolls.
func (m Model) scrolled(key tea.KeyPressMsg) int {
	height := max(1, m.visible-1) // a line of what was shown stays
	top := m.top
	switch key.String() {
	case "down":
		top++
	case "up":
		top--
	case "space", "pgdown", "ctrl+f":
		top += height
	case "pgup", "ctrl+b":
		top -= height
	case "g", "home":
		top = 0
	case "G", "end":
		top = len(m.page.lines)
	}
	return max(0, min(top, len(m.page.lines)-m.bodyHeight()))
}

// step selects the request that many places further; 0 is the first.
func (m Model) step(by int) Model {
	next := m.neighbour(m.selected, by)
	if m.current() == nil {
		if all := m.listed(); len(all) > 0 {
			next = all[0].ID
		}
	}
	if next == "" {
		return m
	}
	return m.open(next)
}

// current is the request that is selected, nil if none is.
func (m Model) current() *approvals.Request {
	if r, ok := m.requests[m.selected]; ok {
		return &r
	}
	return nil
}

// mayDecide reports whether a decision can be sent just now, and notes why not.
func (m *Model) mayDecide(approves bool) bool {
	r := m.current()
	switch {
	case r == nil || m.settling != 0:
		return false
	case r.Status.Final():
		m.notice = "It has ended: " + ending(r)
		return false
	case m.deciding != "":
		m.notice = "A decision is on its way."
		return false
	}
	if why := m.barred(r, approves); why != "" {
		m.notice = sentence(why)
		return false
	}
	return true
}

// sentence is a text that begins and ends as a sentence does.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// approve releases the call, if all of it has been on the screen.
func (m Model) approve() (Model, tea.Cmd) {
	if !m.mayDecide(true) {
		return m, nil
	}
	if !m.shownWhole() {
		return m.showMore(), nil
	}
	return m.send(approvals.Decision{Action: approvals.ActionApprove})
}

// shownWhole reports whether all of the call, or of the edit, has been on the
// screen.
func (m Model) shownWhole() bool { return m.seen >= m.page.callEnd }

func (m Model) showMore() Model {
	m.top = max(0, min(m.seen-1, len(m.page.lines)-m.bodyHeight()))
	m.notice = "It was not shown whole. This is more of it; press the key again when you have read it."
	return m
}

func (m Model) send(d approvals.Decision) (Model, tea.Cmd) {
	d.RequestID = m.selected
	m.deciding, m.notice = d.RequestID, "Sending…"
	return m, m.do.decide(d)
}

// arguments are what an edit begins with.
func (m Model) arguments() []byte {
	switch r := m.current(); {
	case m.draft != nil:
		return m.draft
	case r != nil:
		return r.Arguments
	}
	return nil
}

// edit opens the arguments in the reviewer's editor.
func (m Model) edit(arguments []byte) (Model, tea.Cmd) {
	if !m.mayDecide(true) {
		return m, nil
	}
	if m.current().Details.Fixed {
		m.notice = "The arguments of this call cannot be edited: approve or deny it as it is."
		return m, nil
	}
	return m, m.do.edit(m.selected, arguments)
}

// confirm is the keys while an edit is shown.
func (m Model) confirm(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch key.String() {
	case "esc", "q":
		m.mode, m.draft, m.top, m.seen, m.notice = browsing, nil, 0, 0, ""
	case "e":
		return m.edit(m.draft)
	case "enter":
		if !m.mayDecide(true) {
			return m, nil
		}
		if !m.shownWhole() {
			return m.showMore(), nil
		}
		return m.send(approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: m.draft})
	default:
		m.top = m.scrolled(key)
	}
	return m, nil
}

// typed is the keys while a note, a filter or a pattern is written.
func (m Model) typed(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch key.String() {
	case "esc":
		if m.mode == filtering {
			m.filter = ""
		}
		if m.input = ""; m.mode == patterning {
			m.mode = remembering
		} else {
			m.mode = browsing
		}
	case "enter":
		switch m.mode {
		case filtering:
			m.filter, m.mode = m.input, browsing
			return m, nil
		case patterning:
			return m.patternTyped(), nil
		}
		if !m.mayDecide(false) {
			return m, nil
		}
		return m.send(approvals.Decision{Action: approvals.ActionDeny, Note: strings.TrimSpace(m.input)})
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-size]
	case "ctrl+u":
		m.input = ""
	default:
		m.input += key.Key().Text
	}
	if m.mode == filtering {
		m.filter = m.input
	}
	return m, nil
}
