package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// together is the pending calls of one run that are one question: they are shown on one page and decided at once. Calls
// that come later are not among them: the reviewer has not seen them.
type together struct {
	ids     []string // of the calls; none: one request is shown
	waiting int      // decisions that are on their way
	decided int
	failed  []string
}

func (g *together) on() bool { return len(g.ids) > 0 }

// those returns the pending requests of some ids, in their order.
func (l *requestList) those(ids []string) (found []approvals.Request) {
	for _, id := range ids {
		if r, ok := l.byID[id]; ok && !r.Status.Final() {
			found = append(found, r)
		}
	}
	return found
}

// question returns the ids of the pending requests that are one question with another one, in their order.
func (l *requestList) question(r *approvals.Request) (ids []string) {
	for id := range l.byID {
		if other := l.byID[id]; r.Together != "" && other.Together == r.Together && !other.Status.Final() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// headline is what the calls on the page do together, and how many came after them.
func (g *together) headline(l *requestList) string {
	all := l.those(g.ids)
	text := fmt.Sprintf("%d pending calls of one question", len(all))
	if heading := approvals.Heading(all); heading != "" {
		text = heading + " · " + text
	}
	late := 0
	if len(all) > 0 {
		late = len(slices.DeleteFunc(l.question(&all[0]), func(id string) bool { return slices.Contains(g.ids, id) }))
	}
	if late > 0 {
		text = fmt.Sprintf("%d new, not decided here · %s", late, text)
	}
	return text
}

// beginTogether shows the pending calls that are one question with the selected one.
func (m *Model) beginTogether() tea.Cmd {
	r := m.list.current()
	if r == nil {
		return nil
	}
	ids := m.list.question(r)
	switch {
	case r.Together == "" && !r.Status.Final():
		m.review.notice = "This request is decided by itself."
		return nil
	case len(ids) < 2:
		m.review.notice = "No other pending call is part of this question."
		return nil
	}
	m.review.run, m.review.open = together{ids: ids}, true
	m.review.pager.restart()
	return m.review.settle()
}

// endTogether goes back to one request.
func (m *Model) endTogether() tea.Cmd {
	m.review.run = together{}
	m.review.question.close()
	m.review.pager.restart()
	if m.list.current() == nil {
		m.open("")
		m.step(0)
	}
	return m.review.settle()
}

// keyTogether does what a key means while calls are shown together.
func (m *Model) keyTogether(key tea.KeyPressMsg) tea.Cmd {
	v := &m.review
	switch name := key.String(); {
	case v.question.mode == helping:
		v.question.mode = browsing
		return v.settle()
	case v.question.mode == noting && name == "enter":
		return m.decideAll(approvals.Decision{Action: approvals.ActionDeny, Note: strings.TrimSpace(v.question.input)})
	case v.question.mode == noting && name == "esc":
		v.question.ask(browsing)
	case v.question.mode == noting:
		v.question.typed(key)
	case slices.Contains([]string{"q", "esc", "h", "left"}, name):
		return m.endTogether()
	case name == "a":
		return m.decideAll(approvals.Decision{Action: approvals.ActionApprove})
	case name == "d":
		if v.run.mayDecide(v, m.list.those(v.run.ids), false) {
			v.question.ask(noting)
		}
	case name == "?":
		v.question.mode = helping
	default:
		v.notice = ""
		v.pager.scroll(key, v.bodyHeight(m.list.current()))
	}
	return nil
}

// mayDecide reports whether decisions on all calls can be sent now, and notes why not.
func (g *together) mayDecide(v *review, all []approvals.Request, approves bool) bool {
	for i := range all {
		if !v.mayDecide(&all[i], approves) {
			if v.notice != "" {
				v.notice = all[i].ToolName + " " + all[i].ArgsPreview + ": " + v.notice
			}
			return false
		}
	}
	if len(all) == 0 {
		v.notice = "None of the calls is pending."
	}
	return len(all) > 0
}

// decideAll sends a decision on each of the calls. They are approved only after all of them have been
// on the screen.
func (m *Model) decideAll(d approvals.Decision) tea.Cmd {
	v, all, approves := &m.review, m.list.those(m.review.run.ids), d.Action.Approves()
	if !v.run.mayDecide(v, all, approves) {
		return nil
	}
	if approves && !v.pager.shownWhole() {
		v.pager.showMore(v.bodyHeight(m.list.current()))
		v.notice = "Not all of the calls were shown. Read the rest, then press the key again."
		return nil
	}
	var sent []tea.Cmd
	for i := range all {
		sent = append(sent, v.send(&all[i], d))
	}
	v.run.waiting = len(sent)
	return tea.Batch(sent...)
}

// decidedTogether handles the answer to one of the decisions. After the last the next request is shown.
func (m *Model) decidedTogether(msg decidedMsg) tea.Cmd {
	g, id := &m.review.run, msg.decision.RequestID
	var late *approvals.DecidedError
	switch {
	case errors.As(msg.err, &late):
		g.failed = append(slices.Clip(g.failed), late.Request.ToolName+" was "+ending(&late.Request))
		m.list.remove(id)
	case msg.err != nil:
		r := m.list.byID[id]
		g.failed = append(slices.Clip(g.failed), r.ToolName+": "+msg.err.Error())
	case msg.request.Status.Final():
		g.decided++
		m.list.remove(id)
	default:
		g.failed = append(slices.Clip(g.failed), msg.request.ToolName+" waits for "+msg.request.Missing())
		m.list.put(id, msg.request)
	}
	if g.waiting--; g.waiting > 0 {
		return nil
	}
	m.review.deciding = ""
	notice := fmt.Sprintf("%d calls decided.", g.decided)
	if len(g.failed) > 0 {
		notice += " Not decided by you: " + strings.Join(g.failed, "; ") + "."
	}
	settle := m.endTogether()
	m.review.notice = notice
	return settle
}

// drawRun makes the page of several calls, if it is another one than before. Lines of another page
// have not been on the screen.
func (p *pager) drawRun(all []approvals.Request, width int) {
	of := pageOf{width: width}
	for i := range all {
		of.id += fmt.Sprintf("%s %t %d\n", all[i].ID, all[i].Details.Abridged, len(all[i].Decisions))
	}
	if p.page.of == of {
		return
	}
	p.restart()
	w := &writer{width: width}
	for i := range all {
		r := &all[i]
		w.text("", styles.selected, fmt.Sprintf("%d of %d · %s · %s risk", i+1, len(all), r.ToolName, r.RiskLevel))
		one := requestPage(r, false, width)
		w.lines = append(w.lines, one.lines[:one.callEnd]...)
		w.field("asked by "+r.Rule, r.Reason)
		w.lines = append(w.lines, "")
	}
	p.page = page{of: of, lines: w.lines, callEnd: len(w.lines)}
}
