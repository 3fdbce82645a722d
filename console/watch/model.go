package watch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
)

// Model is the state of the terminal. It is a value: Update returns another.
type Model struct {
	failure    error // why the console refuses the reviewer
	now        time.Time
	connection connection
	list       requestList
	review     review
}

// New returns a model without requests that is not connected.
func New(me client.Self, do actions, now time.Time) Model {
	return Model{now: now, list: newRequestList(), review: review{do: do, me: reviewer{me}, width: 80, height: 24}}
}

// Init begins to count seconds.
func (m Model) Init() tea.Cmd { return tick() }

// Update returns the model after a message, and reads the request that is shown whole
// where it is abridged.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	shown := m.list.current()
	if m.review.run.on() {
		all := m.list.those(m.review.run.ids)
		if i := slices.IndexFunc(all, func(r approvals.Request) bool { return r.Details.Abridged }); i >= 0 {
			shown = &all[i]
		}
		m.review.pager.drawRun(all, m.review.width)
		m.review.pager.fit(m.review.bodyHeight(shown), m.review.question.mode == helping)
	} else {
		m.review.look(shown)
	}
	return m, tea.Batch(cmd, m.review.load(shown))
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.review.resize(msg)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.review.question.paste(msg.Content)
	case tickMsg:
		m.now = time.Time(msg)
		return tick()
	case settledMsg:
		m.review.settled(int(msg))
	case openedMsg:
		m.list.beginReports()
		m.review.loading = ""
	case readyMsg:
		m.connection.ready()
		m.list.endReports(msg.pending)
	case requestMsg:
		return m.receive(msg.request)
	case wholeMsg:
		return m.loaded(msg)
	case lostMsg:
		m.connection.lose(m.now)
	case refusedMsg:
		m.failure = msg.err
		return tea.Quit
	case decidedMsg:
		return m.decided(msg)
	case suggestedMsg:
		m.suggested(msg)
	case draftMsg:
		m.drafted(msg)
	}
	return nil
}

func (m *Model) drafted(msg draftMsg) {
	if msg.id == m.list.selected {
		m.review.drafted(msg)
	}
}

func (m *Model) suggested(msg suggestedMsg) {
	if msg.id == m.list.selected && m.review.question.mode == remembering {
		m.review.question.grant.describe(msg.items)
	}
}

// receive stores the present state of a request, and shows the outcome of the selected
// one. A question about it stays until the reviewer leaves it, so that keys that are
// still typed do not apply to another request. A new request rings the bell.
func (m *Model) receive(r approvals.Request) tea.Cmd {
	_, known := m.list.byID[r.ID]
	if m.list.receive(r, m.review.open) && m.review.deciding != r.ID && m.review.run.waiting == 0 {
		m.review.notice = "It was decided meanwhile: " + ending(m.list.current())
	}
	if known || r.Status.Final() {
		return nil
	}
	return m.connection.ring(m.now)
}

func (m *Model) loaded(msg wholeMsg) tea.Cmd {
	before, known := m.list.byID[msg.id]
	switch {
	case !known:
		return nil
	case msg.err != nil:
		m.review.notice = "The whole call cannot be read: " + msg.err.Error() + " (open it again to retry)"
		return nil
	}
	m.review.loaded(msg.id)
	if !before.Details.Abridged {
		return nil
	}
	r := msg.request
	if before.Status.Final() || len(before.Decisions) > len(r.Decisions) { // it has changed since it was read
		r = before.Restored(&r)
	}
	if r.Status.Final() && !before.Status.Final() {
		return m.receive(r)
	}
	m.list.put(msg.id, r)
	if msg.id != m.list.selected && !m.review.run.on() {
		return nil
	}
	m.review.pager.restart()
	return m.review.settle()
}

// decided handles the answer to a decision, and shows the next request, unless the
// reviewer is writing something else than the note that was sent.
func (m *Model) decided(msg decidedMsg) tea.Cmd {
	if m.review.run.waiting > 0 {
		return m.decidedTogether(msg)
	}
	m.review.deciding = ""
	id := msg.decision.RequestID
	if msg.err != nil {
		m.refused(id, msg.err)
		return nil
	}
	m.review.notice = fmt.Sprintf("%s %s", msg.request.ToolName, ending(&msg.request))
	if after := msg.request.AfterApproval(); after != "" {
		m.review.notice += "; " + after + "."
	}
	if !msg.request.Status.Final() {
		m.review.notice = "You approved. Waiting for " + msg.request.Missing() + "."
	}
	if m.list.selected == id && m.review.question.writesOn(msg.decision.Note) {
		m.list.put(id, msg.request)
		return nil
	}
	next := m.list.nearest(id)
	if msg.request.Status.Final() {
		m.list.remove(id)
	} else {
		m.list.put(id, msg.request)
		next = id
	}
	if m.list.selected == id {
		m.review.question.close()
		m.review.draft = nil
		if next != id {
			m.open(next)
		}
	}
	return m.review.settle()
}

func (m *Model) refused(id string, err error) {
	var late *approvals.DecidedError
	if !errors.As(err, &late) {
		m.review.refused(err)
		return
	}
	if id == m.list.selected {
		m.list.put(id, late.Request)
	} else {
		m.list.remove(id)
	}
	m.review.notice = "You were too late: " + ending(&late.Request)
}

func (m *Model) open(id string) {
	m.list.choose(id)
	m.review.begin(id)
}

func (m *Model) step(by int) {
	next := m.list.neighbour(m.list.selected, by)
	if m.list.current() == nil {
		if all := m.list.listed(); len(all) > 0 {
			next = all[0].ID
		}
	}
	if next != "" {
		m.open(next)
	}
}

// key does what a key means now. Nothing can be decided before the keys pause: a reviewer
// who types on has not looked at the screen.
func (m *Model) key(key tea.KeyPressMsg) tea.Cmd {
	if key.String() == "ctrl+c" {
		return tea.Quit
	}
	if m.review.settling == 0 {
		return m.pressed(key)
	}
	again := m.review.settle()
	return tea.Batch(again, m.pressed(key))
}

func (m *Model) pressed(key tea.KeyPressMsg) tea.Cmd {
	v, r := &m.review, m.list.current()
	if v.run.on() {
		return m.keyTogether(key)
	}
	if v.question.asks() && hasEnded(r) {
		return v.leave(key)
	}
	switch v.question.mode {
	case noting:
		return v.typeNote(r, key)
	case answering:
		return v.typeAnswer(r, key)
	case filtering:
		m.typeFilter(key)
		return nil
	case patterning:
		v.question.typePattern(key)
		return nil
	case remembering:
		return v.remember(r, key, m.now)
	case confirming:
		return v.confirm(r, key)
	case helping:
		v.question.mode = browsing
		return v.settle() // another request may be below it
	}
	v.notice = ""
	if v.open {
		return m.keyInDetail(key)
	}
	return m.keyInList(key)
}

func (m *Model) keyInList(key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "q":
		return tea.Quit
	case "?":
		m.review.question.mode = helping
	case "j", "down":
		m.step(1)
	case "k", "up":
		m.step(-1)
	case "/":
		m.review.question.filter(m.list.filter)
	case "esc":
		m.list.filter = ""
	case "A":
		if m.list.current() == nil {
			m.step(0)
		}
		return m.beginTogether()
	case "enter", "l", "right", "a", "d", "e", "r", "v":
		if m.list.current() == nil {
			m.step(0)
		}
		if m.list.current() != nil {
			m.review.open = true
			m.review.pager.restart()
			return m.review.settle()
		}
	}
	return nil
}

func (m *Model) keyInDetail(key tea.KeyPressMsg) tea.Cmd {
	switch key.String() {
	case "q", "esc", "h", "left":
		m.closeDetail()
	case "j":
		m.step(1)
		return m.review.settle()
	case "k":
		m.step(-1)
		return m.review.settle()
	case "A":
		return m.beginTogether()
	default:
		return m.review.key(m.list.current(), key)
	}
	return nil
}

// closeDetail goes back to the list. A request that has ended is not in it any more.
func (m *Model) closeDetail() {
	selected := m.list.selected
	m.review.open = false
	if r := m.list.current(); r != nil && r.Status.Final() {
		selected = m.list.neighbour(selected, 1)
	}
	m.open(selected)
}

func (m *Model) typeFilter(key tea.KeyPressMsg) {
	q := &m.review.question
	switch key.String() {
	case "esc":
		m.list.filter = ""
		q.ask(browsing)
	case "enter":
		m.list.filter, q.mode = q.input, browsing
	default:
		q.typed(key)
		m.list.filter = q.input
	}
}
