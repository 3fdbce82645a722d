package proxy

import (
	"crypto/sha256"
	"sync"

	"github.com/heldcall/heldcall/approvals"
)

// denials remembers what people denied in each run, so that the same call is not
// asked about again until the user has spoken.
type denials struct {
	mu   sync.Mutex
	runs map[string]*denied
}

// denied are the calls of one run that people denied since the user spoke.
type denied struct {
	user  string            // what tells the user's last message from others
	notes map[string]string // the reviewers' notes, by call
}

// saidOther reports whether the user has spoken since.
func (d *denied) saidOther(user string) bool { return user != "" && user != d.user }

// Bounds of what is remembered; beyond them a call is asked about again.
const (
	maxDeniedRuns  = 10_000
	maxDeniedCalls = 100
)

// note finds what was said when a call was denied.
func (d *denials) note(run, user, call string) (note string, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.runs[run]
	if of == nil || of.saidOther(user) {
		return "", false
	}
	note, again = of.notes[call]
	return note, again
}

// add remembers a call that was denied; the first note stays.
func (d *denials) add(run, user, call, note string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.runs[run]
	if of == nil || of.saidOther(user) {
		if d.runs == nil || len(d.runs) >= maxDeniedRuns {
			d.runs = make(map[string]*denied)
		}
		of = &denied{user: user, notes: make(map[string]string)}
		d.runs[run] = of
	}
	if _, known := of.notes[call]; !known && len(of.notes) < maxDeniedCalls {
		of.notes[call] = note
	}
}

// deniedIn is the run for which denials are remembered, and what tells the user's
// last message from others: "" where the request goes on without one.
func (x *exchange) deniedIn() (run, user string) {
	who := x.identity()
	if x.req.LastUser() != "" {
		sum := sha256.Sum256([]byte(x.req.Task()))
		user = string(sum[:])
	}
	return who.key(who.run), user
}

// deniedBefore finds the note of the reviewer who denied the same call since the
// user spoke.
func (x *exchange) deniedBefore(h *hearing) (note string, again bool) {
	run, user := x.deniedIn()
	call := x.callOf(h.call)
	return x.p.denials.note(run, user, call.Key())
}

// remember keeps what people denied.
func (x *exchange) remember() {
	for _, h := range x.docket.cases {
		if h.outcome != approvals.OutcomeDeniedByPerson {
			continue
		}
		run, user := x.deniedIn()
		d, _ := h.request.FinalDecision()
		call := x.callOf(h.call)
		x.p.denials.add(run, user, call.Key(), d.Note)
	}
}
