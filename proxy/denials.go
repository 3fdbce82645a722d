package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
)

// denied is what was denied of one answer, as it is recorded, and what the records
// that count for a request say together. They are in the store, so that restarts and
// replicas make no difference.
type denied struct {
	denialOf
	Count int `json:"count,omitempty"` // calls that a rule or a person denied
	// Notes are those of the reviewers, by the [judge.Key] of the call that they denied.
	Notes map[string]string `json:"notes,omitempty"`
}

// denialOf is what is known of the request whose calls were denied. It decides whether a
// later request belongs to the same conversation: see [exchange.sameConversation].
type denialOf struct {
	Turn string `json:"turn,omitempty"`
	Said string `json:"said,omitempty"` // see userSaid
	Made string `json:"made,omitempty"` // see [intercept.Request.Made]
	Once string `json:"once,omitempty"` // fingerprint of its Idempotency-Key
}

// maxDeniedNotes bounds what is remembered of one answer; beyond it a call is asked
// about again.
const maxDeniedNotes = 50

// idempotencyHeader names a request that a client may send several times.
const idempotencyHeader = "Idempotency-Key"

// deniedKey is the key under which denials are kept: that of the run where the agent
// names it, else that of the session. It holds the agent's API key where the
// configuration knows none: agents with different keys share no denials.
func (x *exchange) deniedKey() string {
	who, h := x.identity(), &x.fasthttp.Request.Header
	apiKey := ""
	if x.p.client(h) == "" {
		apiKey = keyDigest(h)
	}
	if who.named {
		return who.key("denied in run", apiKey, who.run)
	}
	return who.key("denied in session", apiKey, who.session)
}

// userSaid identifies the user's last message: "" where the request goes on without
// one from what is not known.
func (x *exchange) userSaid() string {
	if x.req.LastUser() == "" {
		return x.followed.User
	}
	sum := sha256.Sum256([]byte(x.req.Task()))
	return hex.EncodeToString(sum[:8])
}

// denialOf describes the exchange's own request.
func (x *exchange) denialOf() denialOf {
	d := denialOf{Turn: x.turn, Said: x.userSaid(), Made: x.req.Made()}
	if key := header(&x.fasthttp.Request.Header, idempotencyHeader); len(key) > 0 {
		d.Once = intercept.Fingerprint(string(key))
	}
	return d
}

// deniedSoFar reads what was denied before this turn and counts for it.
func (x *exchange) deniedSoFar() (denied, *intercept.Error) {
	so := denied{Notes: map[string]string{}}
	if !x.p.options.Turns.AnyTurns() {
		return so, nil
	}
	records, refusal := x.turnsOf(x.deniedKey())
	if refusal != nil || len(records) == 0 {
		return so, refusal
	}
	own := x.denialOf()
	for _, record := range records {
		var one denied
		if err := json.Unmarshal(record, &one); err != nil {
			x.p.log.Error("a record of denied calls cannot be read: they may be asked about again", "run", x.identity().run, "error", err)
			continue
		}
		if x.counts(one.denialOf, own) {
			so.add(one)
		}
	}
	return so, nil
}

// add takes in what was recorded next.
func (d *denied) add(next denied) {
	d.Count += next.Count
	for call, note := range next.Notes {
		if _, known := d.Notes[call]; !known { // the first note stays
			d.Notes[call] = note
		}
	}
}

// counts reports whether a denial counts for this request: it was in the same
// conversation, and the user has not written since. A message that a program has
// written in the user's name, to have a failed answer corrected, is none of the user's:
// then the denied turn has to be in the request's history.
func (x *exchange) counts(of, own denialOf) bool {
	shown := slices.Contains(x.followed.Denied, of.Turn) ||
		slices.ContainsFunc(x.req.Placed(), func(p intercept.Placement) bool { return p.Turn == of.Turn })
	if of.Said != own.Said {
		return shown && x.corrects()
	}
	return shown || x.identity().named || x.sameConversation(of, own)
}

// sameConversation reports whether there is evidence that a request belongs to the
// conversation of the one whose call was denied, although the agent names no run: it is
// that request, sent again by its client, or its history has the same ids of upstream's.
// What the user said is none: others begin with the same words.
func (x *exchange) sameConversation(of, own denialOf) bool {
	switch {
	case of.Turn == own.Turn, of.Once != "" && of.Once == own.Once:
		return true
	}
	return of.Made == own.Made && (own.Made != "" || x.retried())
}

// retried reports whether the client declares that it has sent the request before.
func (x *exchange) retried() bool {
	count := header(&x.fasthttp.Request.Header, retryHeader)
	return len(count) > 0 && string(count) != "0"
}

// corrections are the beginnings of messages in which frameworks ask the model to
// correct an answer that they could not take as structured output.
var corrections = [...]string{
	"Validation Error found:", // Instructor
	"Validation feedback:",    // Pydantic AI
	"Fix the errors and try",  // Pydantic AI
	"You must format the previous response as structured output", // Strands Agents
}

// corrects reports whether a program, not the user, wrote the last message: the request
// leaves the model no choice but one tool, as those for structured output do, or the
// message is one of a framework's corrections.
func (x *exchange) corrects() bool {
	said := strings.TrimSpace(x.req.LastUser())
	return x.req.Forced() || slices.ContainsFunc(corrections[:], func(begins string) bool { return strings.HasPrefix(said, begins) })
}

// deniedNow is what is denied of this turn.
func (x *exchange) deniedNow() denied {
	if len(x.docket.cases) == 0 {
		return denied{}
	}
	now := denied{Notes: map[string]string{}}
	for _, h := range x.docket.cases {
		if h.outcome != approvals.OutcomeDeniedByPerson && h.outcome != approvals.OutcomeDeniedByRule {
			continue
		}
		now.Count++
		if h.outcome == approvals.OutcomeDeniedByPerson && !h.again && len(now.Notes) < maxDeniedNotes {
			d, _ := h.decision()
			now.Notes[judge.Key(h.call)] = excerpt(d.Note)
		}
	}
	return now
}

// endAfterDenials ends the answer where too many calls were denied since the user
// spoke: it is time to ask the user.
func (x *exchange) endAfterDenials() {
	most := x.p.options.MaxDenials
	x.docket.denied = x.deniedNow()
	x.denies = x.denies || x.docket.denied.Count > 0
	all := x.docket.before.Count + x.docket.denied.Count
	if most == 0 || x.docket.denied.Count == 0 || all < most {
		return
	}
	for _, h := range x.docket.cases {
		h.ruling.Ends = intercept.DeniedTooOften(all)
	}
}

// recordDenials makes durable what was denied of this turn, under an id that comes
// after those of all turns before.
func (x *exchange) recordDenials() error {
	d := x.docket.denied
	if d.Count == 0 {
		return nil
	}
	d.denialOf = x.denialOf()
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return x.p.options.Turns.PutTurn(x.ctx, x.deniedKey(), x.turn+suffix(x.turns), value)
}
