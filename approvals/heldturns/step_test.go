package heldturns

import (
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// The next step for each state of a turn, its process and its requests.
func TestSteps(t *testing.T) {
	const ttl = 15 * time.Minute
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	recent, old := now.Add(-time.Second), now.Add(-ttl)
	p := newProcesses("me", true, func() time.Time { return now })
	p.steady, p.last = now.Add(-time.Hour), now
	p.renewed("alive", nil)
	p.ended["dead"] = recent
	mine := &Attachment{turn: "t1", id: "a1"}
	turn := func(owner string, local *Attachment) heldTurn {
		return heldTurn{key: Key{HeldTurn: approvals.HeldTurn{ID: "t1"}, Owner: owner}, at: now.Add(-time.Hour), local: local}
	}
	state := func(s approvals.AttachState, owner string, since time.Time) stateRecord {
		return stateRecord{State: State{ID: "t1", State: s, Since: since, Owner: owner}, revision: 1, logged: true}
	}
	unlogged := func(r stateRecord) stateRecord { r.logged = false; return r }
	left := turn("me", nil)
	left.left, left.leftBy = recent, []string{""}
	busy, ended, removed := left, turn("me", nil), turn("me", nil)
	busy.busy, ended.ended, removed.remove = 1, true, true
	pending := &asked{pending: map[string]bool{"r1": true}, waits: 1}
	decided := &asked{pending: map[string]bool{"r1": false}, ended: recent}
	decidedLong := &asked{pending: map[string]bool{"r1": false}, ended: old}
	ready := func(r stateRecord) stateRecord { r.ready = true; return r }

	for name, c := range map[string]struct {
		turn     heldTurn
		recorded stateRecord
		asked    *asked
		want     step
	}{
		"attached here":                            {turn("me", mine), stateRecord{}, pending, stepNone},
		"attached here and decided":                {turn("me", mine), stateRecord{}, decided, stepNone},
		"attached elsewhere":                       {turn("alive", nil), stateRecord{}, pending, stepNone},
		"attached to a silent process":             {turn("silent", nil), stateRecord{}, pending, stepDetach},
		"attached to a process that has stopped":   {turn("dead", nil), stateRecord{}, pending, stepDetach},
		"claimed by a process that has stopped":    {turn("alive", nil), state(approvals.AgentAttached, "dead", recent), pending, stepDetach},
		"claimed from a process that has stopped":  {turn("dead", nil), state(approvals.AgentAttached, "alive", recent), pending, stepNone},
		"claimed here":                             {turn("dead", mine), state(approvals.AgentAttached, "me", recent), pending, stepNone},
		"left, not recorded":                       {left, stateRecord{}, pending, stepDetach},
		"left, an operation in progress":           {busy, stateRecord{}, pending, stepNone},
		"detached":                                 {turn("me", nil), state(approvals.AgentDetached, "me", recent), pending, stepNone},
		"detached, its event is missing":           {turn("me", nil), unlogged(state(approvals.AgentDetached, "me", recent)), pending, stepLog},
		"detached elsewhere, its event is missing": {turn("me", nil), unlogged(state(approvals.AgentDetached, "alive", recent)), pending, stepNone},
		"detached elsewhere, missing for long":     {turn("me", nil), unlogged(state(approvals.AgentDetached, "alive", now.Add(-time.Minute))), pending, stepLog},
		"detached by one that has stopped":         {turn("me", nil), unlogged(state(approvals.AgentDetached, "dead", recent)), pending, stepLog},
		"detached and decided":                     {turn("me", nil), state(approvals.AgentDetached, "me", recent), decided, stepReady},
		"detached elsewhere and decided":           {turn("me", nil), state(approvals.AgentDetached, "alive", recent), decided, stepNone},
		"detached, decided and announced":          {turn("me", nil), ready(state(approvals.AgentDetached, "me", recent)), decided, stepNone},
		"detached for long":                        {turn("me", nil), state(approvals.AgentDetached, "me", old), pending, stepOrphan},
		"detached for long and decided":            {turn("me", nil), ready(state(approvals.AgentDetached, "me", old)), decided, stepOrphan},
		"detached for long, no person was asked":   {turn("dead", nil), state(approvals.AgentDetached, "dead", old), nil, stepOrphan},
		"declared dead, with its agent":            {turn("me", mine), state(approvals.AgentDetached, "alive", recent), pending, stepTakeBack},
		"parked":                                   {turn("me", nil), state(approvals.AgentParked, "me", old), pending, stepNone},
		"parked and decided":                       {turn("me", nil), state(approvals.AgentParked, "me", old), decided, stepReady},
		"parked, decided and announced":            {turn("me", nil), ready(state(approvals.AgentParked, "me", old)), decided, stepNone},
		"parked and decided for long":              {turn("me", nil), ready(state(approvals.AgentParked, "me", old)), decidedLong, stepOrphan},
		"parked by a process that has stopped":     {turn("dead", nil), state(approvals.AgentParked, "dead", old), pending, stepNone},
		"ending here":                              {turn("me", nil), state(ending, "me", recent), pending, stepFinish},
		"ending elsewhere":                         {turn("me", nil), state(ending, "alive", recent), pending, stepNone},
		"ending at a process that has stopped":     {turn("me", nil), state(ending, "dead", recent), pending, stepFinish},
		"being removed":                            {removed, stateRecord{}, pending, stepRemove},
		"ended":                                    {ended, stateRecord{}, nil, stepNone},
		"ended, with a state":                      {ended, state(approvals.AgentDetached, "me", recent), nil, stepRemoveState},
	} {
		r := &requests{byTurn: map[string]*asked{}}
		if c.asked != nil {
			r.byTurn["t1"] = c.asked
		}
		l := look{p, r, &c.turn, c.recorded, now, ttl}
		if got := l.step(); got != c.want {
			t.Errorf("%s: step %d, want %d", name, got, c.want)
		}
	}
	for age, want := range map[time.Duration]step{time.Second: stepNone, 2 * strayAge: stepRemoveState} {
		l := look{p, &requests{}, nil, state(approvals.AgentDetached, "me", now.Add(-age)), now, ttl}
		if got := l.step(); got != want {
			t.Errorf("a state without a turn, %s old: step %d, want %d", age, got, want)
		}
	}
}

// A process is dead when its lease was removed or not renewed for long, but not while this
// process could not have seen the renewals.
func TestDeadProcesses(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	p := newProcesses("me", true, func() time.Time { return now })
	is := func(owner string, want life) {
		t.Helper()
		if got, _ := p.life(owner); got != want {
			t.Errorf("%s at %s: %v, want %v", owner, now.Format(time.TimeOnly), got, want)
		}
	}
	pass := func(d time.Duration) { now = now.Add(d) }
	is("other", unknown)
	p.renewedOwn()
	is("me", alive)
	is("other", unknown)
	for range leaseTTL / leaseRenewal {
		pass(leaseRenewal)
		p.renewedOwn()
	}
	p.renewed("other", []string{"t1"})
	is("other", alive)
	if !p.unrecorded("other", "t1") || p.unrecorded("other", "t2") || !p.unrecorded("silent", "t2") {
		t.Error("turns whose agents may have left are not those of the lease")
	}
	is("silent", unknown)
	pass(leaseRenewal)
	p.renewedOwn()
	is("silent", dead) // for longer than a lease
	is("other", alive)
	p.removed("stopped")
	is("stopped", dead)
	pass(time.Minute) // cut off
	is("other", unknown)
	is("stopped", dead)
	is("me", alive)
	p.renewedOwn()
	is("other", unknown)
	pass(leaseTTL)
	p.renewedOwn()
	pass(time.Second)
	is("other", dead)

	alone := newProcesses("me", false, func() time.Time { return now })
	if got, since := alone.life("before"); got != dead || !since.Equal(now) {
		t.Errorf("without replicas: %v, %v", got, since)
	}
}

// A lease has the turns whose agents may have left for some time without a record of it.
func TestUnrecordedTurns(t *testing.T) {
	start := time.Now()
	x := newIndex(newProcesses("me", true, time.Now), &requests{byTurn: map[string]*asked{}})
	at := func(id string) *Attachment {
		a := &Attachment{turn: id, id: id, lost: make(chan struct{})}
		x.open(Key{HeldTurn: approvals.HeldTurn{ID: id}, Owner: "me"}, start, a)
		return a
	}
	at("opening")
	x.opened(at("waits"), nil)
	busy, agent := at("busy"), make(chan struct{})
	x.opened(busy, nil)
	busy.WatchAgent(agent)
	close(agent)
	left, detached, taken := at("left"), at("detached"), at("taken")
	for _, a := range []*Attachment{left, detached, taken} {
		x.opened(a, nil)
		x.leave(a, start)
	}
	x.applyState(State{ID: "detached", State: approvals.AgentDetached, Owner: "me", Attachment: "detached"}, 1)
	x.applyState(State{ID: "taken", State: approvals.AgentAttached, Owner: "other", Attachment: "x"}, 2)
	got := x.unrecorded(start.Add(time.Second))
	if slices.Sort(got); !slices.Equal(got, []string{"busy", "left", "opening"}) {
		t.Errorf("unrecorded turns %v", got)
	}
	if got := x.unrecorded(start); !slices.Equal(got, []string{"busy"}) {
		t.Errorf("turns that have just been opened: %v", got)
	}
}

// A claim that fails does not hide that the agent of another attachment has left.
func TestAFailedClaimAfterAnAgentHasLeft(t *testing.T) {
	now := time.Now()
	x := newIndex(newProcesses("me", false, time.Now), &requests{byTurn: map[string]*asked{}})
	has, late := &Attachment{turn: "t1", id: "a", lost: make(chan struct{})}, &Attachment{turn: "t1", id: "b", lost: make(chan struct{})}
	x.open(Key{HeldTurn: approvals.HeldTurn{ID: "t1"}, Owner: "me"}, now, has)
	x.applyState(State{ID: "t1", State: approvals.AgentAttached, Owner: "me", Attachment: "a"}, 1)
	x.leave(has, now)
	x.failed(late, now)
	if state, _, ok := x.current("t1"); !ok || state.State != approvals.AgentDetached {
		t.Errorf("the turn is %s", state.State)
	}
}
