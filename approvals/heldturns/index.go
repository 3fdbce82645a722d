package heldturns

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// index has the held turns in memory, with their states.
type index struct {
	processes *processes
	requests  *requests
	stored    atomic.Int64 // turns that have not ended
	touched   touched

	mu             sync.RWMutex
	turns          map[string]*heldTurn // by id
	byFingerprint  map[string][]*heldTurn
	byConversation map[string][]*heldTurn
	byTask         map[string][]*heldTurn
	results        results
	states         map[string]stateRecord // by turn
}

// stateRecord is a state as it is stored.
type stateRecord struct {
	State
	revision uint64
	logged   bool // its event is in the audit log
	ready    bool // turn_ready is in the audit log
}

func newIndex(p *processes, r *requests) *index {
	return &index{
		processes: p, requests: r, touched: touched{ids: map[string]bool{}, wake: make(chan struct{}, 1)},
		turns: map[string]*heldTurn{}, byFingerprint: map[string][]*heldTurn{}, byConversation: map[string][]*heldTurn{}, byTask: map[string][]*heldTurn{},
		results: newResults(), states: map[string]stateRecord{},
	}
}

// open adds a turn that an attachment stores.
func (x *index) open(key Key, at time.Time, a *Attachment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addLocked(&heldTurn{key: key, at: at, local: a, opening: true})
}

// opened marks that people are asked about the turn of an attachment, which waits for requests of other turns too.
func (x *index) opened(a *Attachment, joined []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a.joined = joined
	if t := x.turns[a.turn]; t != nil {
		t.opening = false
	}
}

// waits reports whether a turn with an agent at this process waits for a request of another turn.
func (x *index) waits(request string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, t := range x.turns {
		if t.local != nil && slices.Contains(t.local.joined, request) {
			return true
		}
	}
	return false
}

func (x *index) addLocked(t *heldTurn) {
	x.turns[t.key.ID] = t
	x.byFingerprint[t.key.Fingerprint] = append(x.byFingerprint[t.key.Fingerprint], t)
	x.byConversation[t.key.Conversation] = append(x.byConversation[t.key.Conversation], t)
	if x.states[t.key.ID].State.State != Delivered {
		x.byTask[t.key.Task] = append(x.byTask[t.key.Task], t)
	}
	t.remove = t.remove || x.results.seen(x.states[t.key.ID].State)
	if !t.ended {
		x.stored.Add(1)
	}
}

// apply applies an entry that the watch reports.
func (x *index) apply(e Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.touched.add(e.ID)
	t := x.turns[e.ID]
	switch {
	case e.Withdrawn && t == nil:
	case e.Withdrawn && e.Key != t.key:
		t.withdrawnLocked(e.Key)
	case e.Withdrawn:
		t.loseLocked()
		x.forgetLocked(t)
	case t == nil:
		x.addLocked(&heldTurn{key: e.Key, at: e.At, ended: e.Ended})
	case t.ended:
	case !e.Ended:
		t.setKeyLocked(e.Key)
	case e.Key == t.key: // else it is stored under another key
		x.endLocked(t, e.At)
	}
}

// end marks a turn as ended, and returns the revision of its state, 0 if it has none.
func (x *index) end(id string, at time.Time) (revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.turns[id]; t != nil && !t.ended {
		x.endLocked(t, at)
	}
	return x.states[id].revision
}

func (x *index) endLocked(t *heldTurn, at time.Time) {
	t.ended, t.at = true, at
	x.stored.Add(-1)
	x.requests.drop(t.key.ID)
	t.loseLocked()
}

// loseLocked takes a turn from the attachment of this process.
func (t *heldTurn) loseLocked() {
	if t.local != nil {
		close(t.local.lost)
		t.local = nil
	}
}

// forget removes a turn, which is not stored.
func (x *index) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.turns[id]; t != nil {
		x.forgetLocked(t)
	}
}

func (x *index) forgetLocked(t *heldTurn) {
	delete(x.turns, t.key.ID)
	drop(x.byFingerprint, t.key.Fingerprint, t)
	drop(x.byConversation, t.key.Conversation, t)
	drop(x.byTask, t.key.Task, t)
	if !t.ended {
		x.stored.Add(-1)
	}
}

// drop removes a turn from one of the maps, if it is there.
func drop(by map[string][]*heldTurn, name string, t *heldTurn) {
	rest := slices.DeleteFunc(by[name], func(other *heldTurn) bool { return other == t })
	if by[name] = rest; len(rest) == 0 {
		delete(by, name)
	}
}

// get returns a stored turn.
func (x *index) get(id string) (t heldTurn, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if t := x.turns[id]; t != nil && !t.ended {
		return *t, true
	}
	return t, false
}

// update changes the known facts of a turn.
func (x *index) update(id string, change func(*heldTurn)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.turns[id]; t != nil {
		change(t)
	}
}

// begin marks an operation on a turn until done is called, which schedules the work in the
// background.
func (x *index) begin(id string) (done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.turns[id]
	if t == nil {
		return func() {}
	}
	t.busy++
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		t.busy--
		x.touched.add(t.key.ID)
	}
}

// attach gives a turn to an attachment of this process whose state was written, unless
// another has claimed the turn since.
func (x *index) attach(a *Attachment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.turns[a.turn]
	if t == nil || x.states[a.turn].Attachment != a.id {
		close(a.lost)
		return
	}
	t.loseLocked()
	t.local, t.leftBy = a, nil
}

// leave marks that the agent of an attachment has left, unless the attachment has lost the turn.
func (x *index) leave(a *Attachment, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.turns[a.turn]; t != nil && t.local == a {
		t.local, t.left, t.leftBy = nil, at, append(t.leftBy, a.id)
	}
}

// failed marks that an attachment does not wait for a turn although its state may be written.
func (x *index) failed(a *Attachment, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.turns[a.turn]; t != nil {
		t.left, t.leftBy = at, append(t.leftBy, a.id)
	}
}

// holds reports whether a turn belongs to an attachment, with the revision of its state.
func (x *index) holds(a *Attachment) (revision uint64, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t := x.turns[a.turn]
	return x.states[a.turn].revision, t != nil && t.local == a
}

// abandon marks that the turn of an attachment must be removed from the store. It reports
// false if the attachment has lost the turn.
func (x *index) abandon(a *Attachment) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.turns[a.turn]
	if t == nil || t.local != a {
		return false
	}
	t.local, t.remove = nil, true
	return true
}

// applyState applies a state that was read or written.
func (x *index) applyState(s State, revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.states[s.ID]
	if revision <= known.revision {
		return
	}
	x.states[s.ID] = stateRecord{State: s, revision: revision}
	x.touched.add(s.ID)
	t := x.turns[s.ID]
	x.results.deliver(s.ID, s.Calls)
	if t != nil && x.results.seen(s) {
		t.remove = true
	}
	if t != nil && s.State == Delivered {
		drop(x.byTask, t.key.Task, t)
	}
	if t != nil && t.local != nil && (s.State == approvals.AgentAttached || s.State == ending) && s.Attachment != t.local.id {
		t.loseLocked()
	}
}

func (x *index) removeState(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.results.forget(id, x.states[id].Calls)
	delete(x.states, id)
}

// current returns the state of a stored turn and the revision of its record. A turn that is
// ending is not one.
func (x *index) current(id string) (state approvals.AgentState, revision uint64, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t, recorded := x.turns[id], x.states[id]
	if t == nil || !t.isStored(recorded) {
		return state, 0, false
	}
	return t.state(recorded, x.processes), recorded.revision, true
}

// isStored reports whether a turn is stored and is not being removed.
func (t *heldTurn) isStored(recorded stateRecord) bool {
	return !t.ended && !t.remove && recorded.State.State != ending
}

// owner returns the process that wrote the state of a turn.
func (t *heldTurn) owner(recorded stateRecord) string {
	if recorded.revision > 0 {
		return recorded.Owner
	}
	return t.key.Owner
}

// state returns the state of a turn: that of its record, unless the process that wrote it
// has ended, or the agent has left and that is not recorded yet.
func (t *heldTurn) state(recorded stateRecord, p *processes) approvals.AgentState {
	state, owner := approvals.AgentState{State: approvals.AgentAttached, Since: t.at}, t.owner(recorded)
	if recorded.revision > 0 {
		state = approvals.AgentState{State: recorded.State.State, Since: recorded.Since}
	}
	if state.State != approvals.AgentAttached {
		return state
	}
	left := time.Time{}
	if l, ended := p.life(owner); l == dead {
		left = ended
	} else if owner == p.self && t.leftSince(recorded) {
		left = t.left
	}
	switch {
	case left.IsZero():
		return state
	case !recorded.DeliveredAt.IsZero(): // it was given again, or should have been
		return approvals.AgentState{State: Delivered, Since: recorded.DeliveredAt}
	}
	return approvals.AgentState{State: approvals.AgentDetached, Since: left}
}

// leftSince reports whether the agent has left this process after the record of its attachment.
func (t *heldTurn) leftSince(recorded stateRecord) bool {
	if t.local != nil || t.left.IsZero() {
		return false
	}
	return recorded.revision == 0 || slices.Contains(t.leftBy, recorded.Attachment)
}

// candidates returns the turns with a name in one of the maps, without those that ended
// before a time.
func (x *index) candidates(by map[string][]*heldTurn, name string, since, now time.Time) (all []Candidate) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, t := range by[name] {
		recorded := x.states[t.key.ID]
		if !t.isStored(recorded) && (!t.ended || !t.at.After(since)) {
			continue
		}
		c := Candidate{ID: t.key.ID, Ended: t.ended, Created: t.at}
		if !t.ended {
			state := t.state(recorded, x.processes)
			c.State, c.Since, c.revision = state.State, state.Since, recorded.revision
			c.Delivered = !recorded.DeliveredAt.IsZero()
			c.Ended = c.State == Delivered && now.Sub(c.Since) >= AgainFor
			if state.State == approvals.AgentAttached {
				own := t.opening || t.local.hasLeft()
				c.Unsure = own || t.local == nil
				c.Unrecorded = own || x.processes.unrecorded(t.owner(recorded), c.ID)
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Candidate) int { return a.Created.Compare(b.Created) })
	return all
}

// count returns the number of stored turns in each state.
func (x *index) count() map[approvals.AttachState]int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := map[approvals.AttachState]int{}
	for _, t := range x.turns {
		if !t.ended {
			n[t.state(x.states[t.key.ID], x.processes).State]++
		}
	}
	delete(n, Delivered)
	return n
}

// due returns the turns with a next step, and removes those that ended longer ago than the orphan TTL.
func (x *index) due(now time.Time, orphanTTL time.Duration) (ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	add := func(id string) {
		if x.lookLocked(id, now, orphanTTL).step() != stepNone {
			ids = append(ids, id)
		}
	}
	for id, t := range x.turns {
		if _, has := x.states[id]; t.ended && !has && t.at.Before(now.Add(-orphanTTL)) {
			x.forgetLocked(t)
			continue
		}
		add(id)
	}
	for id := range x.states {
		if x.turns[id] == nil {
			add(id)
		}
	}
	return ids
}

// wants reports whether a turn is stored.
func (x *index) wants(id string) bool {
	_, ok := x.get(id)
	return ok
}

// logged marks that the event of a state, or also turn_ready, is in the audit log.
func (x *index) logged(id string, revision uint64, ready bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.states[id]; s.revision == revision {
		s.logged, s.ready = true, s.ready || ready
		x.states[id] = s
	}
}
