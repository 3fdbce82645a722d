package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// denied is what was denied in a run since the user spoke: as each answer of which a
// call was denied is recorded, and what these records say together. They stand in the
// store, so that restarts and replicas make no difference.
type denied struct {
	At    time.Time `json:"at"`
	Anew  bool      `json:"anew,omitempty"`  // what was denied before counts no more
	Count int       `json:"count,omitempty"` // calls that a rule or a person denied
	// Notes are those of the reviewers, by the call that they denied.
	Notes map[string]string `json:"notes,omitempty"`
}

// maxDeniedNotes bounds what is remembered of one answer; beyond it a call is asked
// about again.
const maxDeniedNotes = 50

// deniedKey is the key under which the denials of the run are kept, since the user
// spoke.
func (x *exchange) deniedKey() string {
	who := x.identity()
	return who.key("denied", who.run, x.userSaid())
}

// userSaid tells the user's last message from others: "" where the request goes on
// without one from what is not known.
func (x *exchange) userSaid() string {
	if x.req.LastUser() == "" {
		return x.followed.User
	}
	sum := sha256.Sum256([]byte(x.req.Task()))
	return hex.EncodeToString(sum[:8])
}

// deniedSoFar reads what was denied before this turn.
func (x *exchange) deniedSoFar() (denied, *intercept.Error) {
	so := denied{Notes: map[string]string{}}
	if !x.p.options.Turns.AnyTurns() {
		return so, nil
	}
	records, refusal := x.turnsOf(x.deniedKey())
	if refusal != nil {
		return so, refusal
	}
	for _, record := range records {
		var one denied
		if err := json.Unmarshal(record, &one); err != nil {
			x.p.log.Error("a record of denied calls cannot be read: they may be asked about again", "run", x.identity().run, "error", err)
			continue
		}
		so.add(one)
	}
	if so.Count == 0 || !x.beginsAnew(so.At) {
		return so, nil
	}
	anew := denied{At: x.began, Anew: true}
	if err := x.keepDenied(anew); err != nil {
		return so, x.storeError(err)
	}
	return anew, nil
}

// add takes in what was recorded next.
func (d *denied) add(next denied) {
	if next.Anew {
		*d = denied{Notes: map[string]string{}}
	}
	d.At = next.At
	d.Count += next.Count
	for call, note := range next.Notes {
		if _, known := d.Notes[call]; !known { // the first note stays
			d.Notes[call] = note
		}
	}
}

// beginsAnew reports whether the user has said the same again: all that is known of
// a run without a name is what the user said. Then the request begins a conversation
// and does not come from a client that tries again.
func (x *exchange) beginsAnew(last time.Time) bool {
	if x.turns > 1 || !x.identity().derived || !x.req.Begins() {
		return false
	}
	retries := header(&x.fasthttp.Request.Header, retryHeader)
	return string(retries) == "0" || x.began.Sub(last) >= x.p.options.AbortRest
}

// before finds the note of the reviewer who denied the same call.
func (d *denied) before(x *exchange, c intercept.Call) (note string, again bool) {
	if len(d.Notes) == 0 {
		return "", false
	}
	note, again = d.Notes[x.callKey(c)]
	return note, again
}

// callKey is the same for equal calls.
func (x *exchange) callKey(c intercept.Call) string {
	call := x.callOf(c)
	sum := sha256.Sum256([]byte(call.Key()))
	return hex.EncodeToString(sum[:])
}

// deniedNow is what is denied of this turn.
func (x *exchange) deniedNow() denied {
	if len(x.docket.cases) == 0 {
		return denied{}
	}
	now := denied{At: time.Now().UTC(), Notes: map[string]string{}}
	for _, h := range x.docket.cases {
		if h.outcome != approvals.OutcomeDeniedByPerson && h.outcome != approvals.OutcomeDeniedByRule {
			continue
		}
		now.Count++
		if h.outcome == approvals.OutcomeDeniedByPerson && !h.again && len(now.Notes) < maxDeniedNotes {
			d, _ := h.decision()
			now.Notes[x.callKey(h.call)] = excerpt(d.Note)
		}
	}
	return now
}

// endAfterDenials ends the answer where too many calls were denied since the user
// spoke: it is time to ask the user.
func (x *exchange) endAfterDenials() {
	most := x.p.options.MaxDenials
	x.docket.denied = x.deniedNow()
	all := x.docket.before.Count + x.docket.denied.Count
	if most == 0 || x.docket.denied.Count == 0 || all < most {
		return
	}
	for _, h := range x.docket.cases {
		h.ruling.Ends = intercept.DeniedTooOften(all)
	}
}

// recordDenials makes durable what was denied of this turn.
func (x *exchange) recordDenials() error {
	if x.docket.denied.Count == 0 {
		return nil
	}
	return x.keepDenied(x.docket.denied)
}

// keepDenied records under an id that comes after those of all turns before, and
// after the one that says that they count no more.
func (x *exchange) keepDenied(d denied) error {
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	id := x.turn
	if !d.Anew {
		id += suffix(x.turns)
	}
	return x.p.options.Turns.PutTurn(x.ctx, x.deniedKey(), id, value)
}
