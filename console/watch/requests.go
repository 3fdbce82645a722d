package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// requestList holds the pending requests, and the one that is shown. Its maps are copied
// before they are written, so that a copy of the list is a list of its own.
type requestList struct {
	byID     map[string]approvals.Request
	reported map[string]bool // those received since the connection was made
	filter   string
	selected string // "" if none is
}

func newRequestList() requestList {
	return requestList{byID: map[string]approvals.Request{}, reported: map[string]bool{}}
}

func (l *requestList) put(id string, r approvals.Request) {
	l.byID = maps.Clone(l.byID)
	l.byID[id] = r
}

func (l *requestList) remove(id string) {
	l.byID = maps.Clone(l.byID)
	delete(l.byID, id)
}

func (l *requestList) current() *approvals.Request {
	if r, ok := l.byID[l.selected]; ok {
		return &r
	}
	return nil
}

// beginReports begins a connection: no request has been received over it.
func (l *requestList) beginReports() { l.reported = map[string]bool{} }

// endReports removes the requests that ended while the connection was lost: those that
// are neither pending nor were received since. The selected one is kept as cancelled.
func (l *requestList) endReports(pending []string) {
	for id, r := range l.byID {
		if r.Status != approvals.StatusPending || slices.Contains(pending, id) || l.reported[id] {
			continue
		}
		if id != l.selected {
			l.remove(id)
			continue
		}
		r.Status = approvals.StatusCancelled
		r.Details.CancelReason = "it ended while the connection was lost"
		l.put(id, r)
	}
}

// receive puts in a request in its present state, and reports whether it ended while it
// was shown. One that has ended is kept only then.
func (l *requestList) receive(r approvals.Request, shown bool) (ended bool) {
	before, known := l.byID[r.ID]
	if known && before.Status.Final() {
		if r.Details.Result != nil || r.NotRun() != "" {
			l.put(r.ID, r.Restored(&before))
		}
		return false
	}
	if known {
		r = r.Restored(&before)
	}
	if !r.Status.Final() {
		l.put(r.ID, r)
		l.reported = maps.Clone(l.reported)
		l.reported[r.ID] = true
		return false
	}
	if r.ID == l.selected && known && shown {
		l.put(r.ID, r)
		return true
	}
	l.remove(r.ID)
	return false
}

// choose selects a request, "" for none. The one before it is removed if it has ended.
func (l *requestList) choose(id string) {
	if before := l.current(); before != nil && before.Status.Final() && l.selected != id {
		l.remove(l.selected)
	}
	l.selected = id
}

var riskOrder = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

// listed returns the requests that match the filter: calls of one run together, and in it those of one question, the
// riskiest run first, then the longest waiting.
func (l *requestList) listed() []approvals.Request {
	rank := map[string]int{}     // of a run
	first := map[string]string{} // id of a run, and of a question
	var all []approvals.Request
	for id := range l.byID {
		r := l.byID[id]
		if l.filter != "" && !strings.Contains(strings.ToLower(searchable(&r)), strings.ToLower(l.filter)) {
			continue
		}
		all = append(all, r)
		run := runOf(&r)
		rank[run] = max(rank[run], slices.Index(riskOrder, r.RiskLevel))
		for _, key := range []string{run, questionOf(&r)} {
			if first[key] == "" || id < first[key] {
				first[key] = id
			}
		}
	}
	slices.SortFunc(all, func(a, b approvals.Request) int {
		s, t := runOf(&a), runOf(&b)
		return cmp.Or(cmp.Compare(rank[t], rank[s]), cmp.Compare(first[s], first[t]), cmp.Compare(first[questionOf(&a)], first[questionOf(&b)]), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (l *requestList) neighbour(id string, by int) string {
	all := l.listed()
	at := slices.IndexFunc(all, func(r approvals.Request) bool { return r.ID == id })
	if at+by < 0 || at+by >= len(all) {
		return ""
	}
	return all[at+by].ID
}

func (l *requestList) nearest(id string) string {
	return cmp.Or(l.neighbour(id, 1), l.neighbour(id, -1))
}

func (l *requestList) waiting() int {
	n := 0
	for id := range l.byID {
		if l.byID[id].Status == approvals.StatusPending {
			n++
		}
	}
	return n
}

// placeInQuestion returns the place of a request among those that are one question with it, and their number.
func (l *requestList) placeInQuestion(r *approvals.Request) (place, of int) {
	ids := l.question(r)
	return slices.Index(ids, r.ID) + 1, len(ids)
}

// runOf identifies the run of a call: the calls of a run are listed together.
func runOf(r *approvals.Request) string {
	if r.RunID == "" {
		return cmp.Or(r.TurnID, r.ID)
	}
	return strings.Join([]string{r.Principal.Tenant, r.Principal.User, r.Principal.Agent, r.SessionID, r.RunID}, "\x00")
}

// questionOf identifies what is decided with one answer.
func questionOf(r *approvals.Request) string { return cmp.Or(r.Together, r.ID) }

func searchable(r *approvals.Request) string {
	return strings.Join([]string{r.ToolName, r.Title, r.ArgsPreview, r.Resource, r.Principal.Agent, r.Principal.User, r.Principal.Tenant, string(r.RiskLevel), r.ID, r.SessionID, r.RunID}, "\n")
}

// hasEnded reports whether nothing can be decided about a request any more.
func hasEnded(r *approvals.Request) bool { return r == nil || r.Status.Final() }

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
