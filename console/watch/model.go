package watch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
)

// settle is how long nothing can be decided when another request is shown than the
// keys were meant for, so that a second press does not meet a call that nobody has
// seen.
const settle = 500 * time.Millisecond

// mode is what keys mean.
type mode int

const (
	browsing    mode = iota
	noting           // why a call is denied
	filtering        // what the list shows
	remembering      // which patterns to remember
	patterning       // one more of them, typed
	confirming       // an edit
	helping
)

// asks reports whether a mode is a question about the selected request.
func (m mode) asks() bool {
	return m == noting || m == remembering || m == patterning || m == confirming
}

// Model is what the terminal shows. It is a value: Update returns another.
type Model struct {
	do      actions
	me      client.Self
	failure error // why the console will not have the reviewer

	width, height int
	now           time.Time
	connected     bool
	since         time.Time       // when the connection was lost; zero before the first
	told          map[string]bool // what waits, told since the connection was made

	requests map[string]approvals.Request // those that wait, and the one that is shown
	filter   string
	selected string
	detail   bool // the selected request is shown in full
	raw      bool // its arguments as JSON
	top      int  // the first line of it on the screen
	visible  int  // how many of its lines are on the screen
	seen     int  // how many have been, from the first on

	mode     mode
	input    string // what is typed
	memory   memory // what is remembered
	draft    []byte // edited arguments, until they are sent
	deciding string // the request whose decision is on its way
	loading  string // the request that is read whole
	settling int    // 0 once the screen has stood still
	count    int    // of the times that it had to
	notice   string

	page page // the selected request, as lines
}

// New is a model that has seen nothing yet.
func New(me client.Self, do actions, now time.Time) Model {
	return Model{do: do, me: me, now: now, width: 80, height: 24, requests: map[string]approvals.Request{}, told: map[string]bool{}}
}

// Init begins to count seconds.
func (m Model) Init() tea.Cmd { return tick() }

// Update takes in what happened, and reads the request that is shown whole where it is
// abridged.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	next, cmd := m.update(msg)
	next, load := next.load()
	return next.look(), tea.Batch(cmd, load)
}

func (m Model) update(msg tea.Msg) (Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 8)
		m.top, m.seen = 0, 0 // the lines are others now
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.mode == noting || m.mode == filtering || m.mode == patterning {
			m.input += msg.Content
		}
	case tickMsg:
		m.now = time.Time(msg)
		return m, tick()
	case settledMsg:
		if int(msg) == m.settling {
			m.settling = 0
		}
	case openedMsg:
		m.told, m.loading = map[string]bool{}, ""
	case readyMsg:
		m = m.ready(msg.pending)
	case requestMsg:
		m = m.take(msg.request)
	case wholeMsg:
		return m.loaded(msg)
	case lostMsg:
		if m.connected || m.since.IsZero() {
			m.connected, m.since = false, m.now
		}
	case refusedMsg:
		m.failure = msg.err
		return m, tea.Quit
	case decidedMsg:
		return m.decided(msg)
	case draftMsg:
		m = m.drafted(msg)
	}
	return m, nil
}

// ready drops what ended while nobody told.
func (m Model) ready(pending []string) Model {
	m.connected = true
	m.requests = maps.Clone(m.requests)
	for id, r := range m.requests {
		if r.Status == approvals.StatusPending && !slices.Contains(pending, id) && !m.told[id] {
			if id != m.selected {
				delete(m.requests, id)
				continue
			}
			r.Status = approvals.StatusCancelled
			r.Details.CancelReason = "it ended while the connection was lost"
			m.requests[id] = r
		}
	}
	return m
}

// take puts in a request as it stands now. One that ended is kept while it is
// shown, and who looks at it is told how it ended. A question about it stands until
// the reviewer leaves it: what is still typed must not meet another request.
func (m Model) take(r approvals.Request) Model {
	before, known := m.requests[r.ID]
	if known && before.Status.Final() {
		return m
	}
	if known {
		r = r.Restored(&before)
	}
	m.requests = maps.Clone(m.requests)
	if !r.Status.Final() {
		m.requests[r.ID] = r
		m.told = maps.Clone(m.told)
		m.told[r.ID] = true
		return m
	}
	delete(m.requests, r.ID)
	if r.ID == m.selected && known && m.detail {
		m.requests[r.ID] = r
		if m.deciding != r.ID {
			m.notice = "It was decided meanwhile: " + ending(&r)
		}
	}
	return m
}

// load reads the request that is shown whole, where it is abridged.
func (m Model) load() (Model, tea.Cmd) {
	r := m.current()
	if r == nil || !m.detail || !r.Details.Abridged || m.loading == r.ID {
		return m, nil
	}
	m.loading = r.ID
	return m, m.do.load(r.ID)
}

// loaded takes in a request that was read whole. None of it has been on the screen.
func (m Model) loaded(msg wholeMsg) (Model, tea.Cmd) {
	before, known := m.requests[msg.id]
	switch {
	case !known:
		return m, nil
	case msg.err != nil:
		m.notice = "The whole call cannot be read: " + msg.err.Error() + " (open it again to retry)"
		return m, nil
	}
	if m.loading == msg.id {
		m.loading = ""
	}
	if !before.Details.Abridged {
		return m, nil
	}
	r := msg.request
	if before.Status.Final() || len(before.Decisions) > len(r.Decisions) { // it has changed since it was read
		r = before.Restored(&r)
	}
	if r.Status.Final() && !before.Status.Final() {
		return m.take(r), nil
	}
	m.requests = maps.Clone(m.requests)
	m.requests[msg.id] = r
	if msg.id != m.selected {
		return m, nil
	}
	m.top, m.seen = 0, 0
	return m.settle()
}

// decided takes in the answer to a decision, and goes on to the next request. Who
// writes something else meanwhile, or wrote on after the note was sent, goes on
// writing.
func (m Model) decided(msg decidedMsg) (Model, tea.Cmd) {
	m.deciding = ""
	id := msg.decision.RequestID
	var late *approvals.DecidedError
	var invalid *approvals.InvalidError
	switch {
	case errors.As(msg.err, &late):
		m.requests = maps.Clone(m.requests)
		m.requests[id] = late.Request
		if id != m.selected {
			delete(m.requests, id)
		}
		m.notice = "You were too late: " + ending(&late.Request)
		return m, nil
	case errors.As(msg.err, &invalid):
		m.notice = "It still waits. The decision is not valid: " + invalid.Error()
		if m.draft != nil {
			m.notice += " (e edits it again)"
		}
		return m, nil
	case msg.err != nil:
		m.notice = "It was not decided: " + msg.err.Error()
		return m, nil
	}
	m.notice = fmt.Sprintf("%s %s", msg.request.ToolName, ending(&msg.request))
	if !msg.request.Status.Final() {
		m.notice = "You approved. Waiting for " + msg.request.Missing() + "."
	}
	if m.selected == id && (m.mode == patterning || m.mode == noting && strings.TrimSpace(m.input) != msg.decision.Note) {
		m.requests = maps.Clone(m.requests)
		m.requests[id] = msg.request
		return m, nil
	}
	next := m.neighbour(id, 1)
	if next == "" {
		next = m.neighbour(id, -1)
	}
	m.requests = maps.Clone(m.requests)
	if msg.request.Status.Final() {
		delete(m.requests, id)
	} else {
		m.requests[id] = msg.request
		next = id
	}
	if m.selected == id {
		if m.mode.asks() {
			m.mode, m.input = browsing, ""
		}
		m.draft = nil
		if next != id {
			m = m.open(next)
		}
	}
	return m.settle()
}

// settle lets nothing be decided for a moment.
func (m Model) settle() (Model, tea.Cmd) {
	m.count++
	m.settling = m.count
	number := m.count
	return m, tea.Tick(settle, func(time.Time) tea.Msg { return settledMsg(number) })
}

// drafted takes in what was edited and asks whether to send it.
func (m Model) drafted(msg draftMsg) Model {
	switch {
	case msg.id != m.selected:
	case msg.err != nil:
		m.notice = "Nothing was decided: " + msg.err.Error()
		if msg.text != nil {
			m.draft = msg.text
			if m.mode == confirming {
				m.mode = browsing // Enter sends what is valid only
			}
			m.notice += " (e edits it again)"
		}
	case m.mode != browsing && m.mode != confirming:
		m.draft, m.notice = msg.text, "What you edited is kept (e edits it again)."
	default:
		m.draft, m.mode, m.top, m.seen, m.notice = msg.text, confirming, 0, 0, ""
	}
	return m
}

// open selects a request; "" is the list.
func (m Model) open(id string) Model {
	if old, ok := m.requests[m.selected]; ok && old.Status.Final() && m.selected != id {
		m.requests = maps.Clone(m.requests)
		delete(m.requests, m.selected)
	}
	m.selected, m.top, m.seen, m.raw, m.draft, m.loading = id, 0, 0, false, nil, ""
	m.detail = m.detail && id != ""
	return m
}

// riskOrder ranks the risks.
var riskOrder = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

// listed are the requests that the list shows: calls of one answer together, the
// riskiest first, then the longest waiting.
func (m Model) listed() []approvals.Request {
	rank := map[string]int{} // of a turn
	first := map[string]string{}
	var all []approvals.Request
	for id := range m.requests {
		r := m.requests[id]
		if m.filter != "" && !strings.Contains(strings.ToLower(searchable(&r)), strings.ToLower(m.filter)) {
			continue
		}
		all = append(all, r)
		turn := turnOf(&r)
		rank[turn] = max(rank[turn], slices.Index(riskOrder, r.RiskLevel))
		if first[turn] == "" || id < first[turn] {
			first[turn] = id
		}
	}
	slices.SortFunc(all, func(a, b approvals.Request) int {
		s, t := turnOf(&a), turnOf(&b)
		return cmp.Or(cmp.Compare(rank[t], rank[s]), cmp.Compare(first[s], first[t]), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// turnOf is the answer of the model that a call belongs to.
func turnOf(r *approvals.Request) string { return cmp.Or(r.TurnID, r.ID) }

// searchable is what a filter looks at.
func searchable(r *approvals.Request) string {
	return strings.Join([]string{r.ToolName, r.Title, r.ArgsPreview, r.Resource, r.Principal.Agent, r.Principal.User, r.Principal.Tenant, string(r.RiskLevel), r.ID, r.SessionID, r.RunID}, "\n")
}

// neighbour is the request that many places further in the list, "" if there is
// none.
func (m Model) neighbour(id string, by int) string {
	all := m.listed()
	at := slices.IndexFunc(all, func(r approvals.Request) bool { return r.ID == id })
	if at+by < 0 || at+by >= len(all) || at < 0 && len(all) == 0 {
		return ""
	}
	return all[at+by].ID
}

// ending says how a request ended, or where it stands.
func ending(r *approvals.Request) string {
	d, ok := r.FinalDecision()
	switch {
	case ok && d.Note != "":
		return fmt.Sprintf("%s by %s: %s", r.Status, d.ReviewerID, d.Note)
	case ok:
		return fmt.Sprintf("%s by %s", r.Status, d.ReviewerID)
	case !r.Status.Final():
		return "waiting for " + r.Missing()
	case r.WhyCancelled() != "":
		return fmt.Sprintf("%s: %s", r.Status, r.WhyCancelled())
	}
	return string(r.Status)
}
