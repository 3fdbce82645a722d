package watch

import (
	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// pager shows a page of which a part fits the screen, and knows which lines have been on
// the screen.
type pager struct {
	page    page
	raw     bool // the arguments are shown as JSON
	top     int  // the first line on the screen
	visible int  // how many lines are on the screen
	seen    int  // how many have been, from the first on
}

// restart goes back to the first line. No line of the page has been on the screen.
func (p *pager) restart() { p.top, p.seen = 0, 0 }

func (p *pager) toggleRaw() {
	p.raw = !p.raw
	p.restart()
}

// draw makes the page of a request, of an edit of it, or of an answer of several texts, if it
// is another one than before.
func (p *pager) draw(r *approvals.Request, draft []byte, f *form, width int) {
	of := pageOf{r.ID, r.Status, len(r.Decisions), r.EscalatedAt(), r.AgentNote(timeOf), r.Details.Result.Received(), r.Details.Abridged, p.raw, string(draft), f.turns, f.several(), width}
	if p.page.of == of {
		return
	}
	switch {
	case len(draft) > 0:
		p.page = draftPage(r, draft, width)
	case f.several():
		p.restart()
		p.page = f.page(width)
	default:
		p.page = requestPage(r, p.raw, width)
	}
	p.page.of = of
}

// fit puts that many lines on the screen. They count as seen unless they are covered.
func (p *pager) fit(height int, covered bool) {
	p.visible = height
	p.top = p.clamp(p.top, height)
	if p.top <= p.seen && !covered { // lines that were jumped over have not been seen
		p.seen = max(p.seen, p.top+height)
	}
}

func (p *pager) clamp(top, height int) int { return max(0, min(top, len(p.page.lines)-height)) }

func (p *pager) scroll(key tea.KeyPressMsg, height int) {
	step := max(1, p.visible-1) // one line of the last screen stays
	top := p.top
	switch key.String() {
	case "down":
		top++
	case "up":
		top--
	case "space", "pgdown", "ctrl+f":
		top += step
	case "pgup", "ctrl+b":
		top -= step
	case "g", "home":
		top = 0
	case "G", "end":
		top = len(p.page.lines)
	}
	p.top = p.clamp(top, height)
}

func (p *pager) showMore(height int) { p.top = p.clamp(p.seen-1, height) }

// shownWhole reports whether all of the call, or of the edit, has been on the screen.
func (p *pager) shownWhole() bool { return p.seen >= p.page.callEnd }

func (p *pager) lines(height int) []string {
	return append([]string(nil), p.page.lines[p.top:min(len(p.page.lines), p.top+height)]...)
}
