package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
)

// denied is what was denied of one answer, as it is recorded, and the sum of the records
// that count for a request. They are in the store, so that restarts and replicas make no
// difference.
type denied struct {
	denialOf
	Count int `json:"count,omitempty"` // calls that a rule or a person denied
	// Notes are those of the reviewers, by the [judge.Key] of the call that they denied.
	Notes map[string]string `json:"notes,omitempty"`
}

// denialOf describes the request whose calls were denied. It decides whether a
// later request belongs to the same conversation: see [denialHistory.sameConversation].
type denialOf struct {
	Turn string `json:"turn,omitempty"`
	Said string `json:"said,omitempty"` // see userMessage
	Made string `json:"made,omitempty"` // see [intercept.Request.Made]
	Once string `json:"once,omitempty"` // fingerprint of its Idempotency-Key
}

// maxDeniedNotes bounds the notes that are remembered of one answer. People are asked again about a
// call beyond it.
const maxDeniedNotes = 50

// denialHistory is what was denied in the conversation since the user wrote.
type denialHistory struct {
	conversation *conversation
	before       denied // this answer
	now          denied // of the calls that are under review
	any          bool   // calls of this turn were denied
}

// key is the key under which denials are kept: that of the run where the agent names it,
// else that of the session. It contains the digest of an API key that the configuration
// does not know: agents with different keys share no denials.
func (h *denialHistory) key() string {
	who := h.conversation.identity()
	apiKey := ""
	if h.conversation.request.Client == "" {
		apiKey = h.conversation.request.keyDigest()
	}
	if who.Named {
		return who.key("denied in run", apiKey, who.Run)
	}
	return who.key("denied in session", apiKey, who.Session)
}

// own describes the turn's own request.
func (h *denialHistory) own() denialOf {
	c := h.conversation
	d := denialOf{Turn: c.request.Turn, Said: c.userMessage(), Made: c.parsed.Made()}
	if key := c.request.IdempotencyKey; key != "" {
		d.Once = intercept.Fingerprint(key)
	}
	return d
}

// begin begins the count for another answer.
func (h *denialHistory) begin() { h.before, h.now = denied{}, denied{} }

// load reads what was denied before this turn and counts for it.
func (h *denialHistory) load(ctx context.Context) *intercept.Error {
	h.before = denied{Notes: map[string]string{}}
	c := h.conversation
	if !c.engine.Store.AnyTurns() {
		return nil
	}
	records, refusal := c.recordsOf(ctx, h.key())
	if refusal != nil || len(records) == 0 {
		return refusal
	}
	own := h.own()
	for _, record := range records {
		var one denied
		if err := json.Unmarshal(record, &one); err != nil {
			c.engine.log.Error("a record of denied calls cannot be read: they may be asked about again", "run", c.identity().Run, "error", err)
			continue
		}
		if h.counts(one.denialOf, own) {
			h.before.add(one)
		}
	}
	return nil
}

// add adds what was recorded next.
func (d *denied) add(next denied) {
	d.Count += next.Count
	for call, note := range next.Notes {
		if _, known := d.Notes[call]; !known { // the first note stays
			d.Notes[call] = note
		}
	}
}

// counts reports whether a denial counts for this request: it was in the same
// conversation, and the user has not written since. A program may have written a message
// in the user's name to have a failed answer corrected: then the denied turn has to be in
// the request's history.
func (h *denialHistory) counts(of, own denialOf) bool {
	c := h.conversation
	shown := slices.Contains(c.continues.Denied, of.Turn) ||
		slices.ContainsFunc(c.parsed.Placements(), func(p intercept.Placement) bool { return p.Turn == of.Turn })
	if of.Said != own.Said {
		return shown && c.corrects()
	}
	return shown || c.identity().Named || h.sameConversation(of, own)
}

// sameConversation reports whether there is evidence that a request belongs to the
// conversation of the one whose call was denied, although the agent names no run: it is
// that request, sent again by its client, or its history has the same ids of upstream's.
// Equal words of the user are none: other conversations begin with them too.
func (h *denialHistory) sameConversation(of, own denialOf) bool {
	switch {
	case of.Turn == own.Turn, of.Once != "" && of.Once == own.Once:
		return true
	}
	return of.Made == own.Made && (own.Made != "" || h.conversation.request.Retried)
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
func (c *conversation) corrects() bool {
	message := strings.TrimSpace(c.parsed.LastUser())
	return c.parsed.Forced() || slices.ContainsFunc(corrections[:], func(begins string) bool { return strings.HasPrefix(message, begins) })
}

// count counts the denials among the calls under review, which have rulings. It returns
// how many calls were denied since the user wrote, 0 if none of them is of this answer.
func (h *denialHistory) count(calls []*judgedCall) (all int) {
	h.now = deniedAmong(calls)
	if h.now.Count == 0 {
		return 0
	}
	h.any = true
	return h.before.Count + h.now.Count
}

// deniedAmong counts the denied calls and collects their notes.
func deniedAmong(calls []*judgedCall) denied {
	if len(calls) == 0 {
		return denied{}
	}
	now := denied{Notes: map[string]string{}}
	for _, j := range calls {
		byPerson := j.outcome == approvals.OutcomeDeniedByPerson
		if !byPerson && j.outcome != approvals.OutcomeDeniedByRule {
			continue
		}
		now.Count++
		if byPerson && !j.again && len(now.Notes) < maxDeniedNotes {
			d, _ := j.decision()
			now.Notes[judge.Key(j.call)] = excerpt(d.Note)
		}
	}
	return now
}

// record makes durable what was denied of this turn, under an id that comes after those of
// all turns before.
func (h *denialHistory) record(ctx context.Context, suffix string) error {
	if h.now.Count == 0 {
		return nil
	}
	d := h.now
	d.denialOf = h.own()
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	c := h.conversation
	return c.engine.Store.PutTurn(ctx, h.key(), c.request.Turn+suffix, value)
}
