package conversation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// Denied is what was denied in one answer, as it is recorded, and the sum of the records
// that count for a request. The records are in the store, so that restarts and replicas
// make no difference.
type Denied struct {
	denialOf
	Count int `json:"count,omitempty"` // calls that a rule or a person denied
	// Notes are the notes of the reviewers, by the judge's key of the call that they denied.
	Notes map[string]string `json:"notes,omitempty"`
}

// denialOf describes the request whose calls were denied. It decides whether a later
// request belongs to the same conversation: see [Denials.sameConversation].
type denialOf struct {
	Turn string `json:"turn,omitempty"`
	Said string `json:"said,omitempty"` // see userMessage
	Made string `json:"made,omitempty"` // see [intercept.Request.Made]
	Once string `json:"once,omitempty"` // fingerprint of its Idempotency-Key
}

// Denials are the denied calls of the conversation since the user wrote.
type Denials struct {
	conversation *Conversation
	before       Denied // this answer
	now          Denied // in this answer
	any          bool   // calls of this turn were denied
}

// Begin begins the count for another answer.
func (h *Denials) Begin() { h.before, h.now = Denied{}, Denied{} }

// Load reads what was denied before this turn and counts for it.
func (h *Denials) Load(ctx context.Context) *intercept.Error {
	h.before = Denied{Notes: map[string]string{}}
	c := h.conversation
	if !c.recorded.any() {
		return nil
	}
	records, refusal := c.records(ctx, h.key())
	if refusal != nil || len(records) == 0 {
		return refusal
	}
	request := h.request()
	for _, record := range records {
		var denied Denied
		if err := json.Unmarshal(record, &denied); err != nil {
			c.shared.Log.Error("cannot read a record of denied calls; people may be asked about them again", "run", c.Identity().Run, "error", err)
			continue
		}
		if h.counts(denied.denialOf, request) {
			h.before.add(denied)
		}
	}
	return nil
}

// Notes returns the notes that [Denials.Load] has found, by call.
func (h *Denials) Notes() map[string]string { return h.before.Notes }

// Deny sets the denials of this answer. It returns how many calls were denied since the
// user wrote, 0 if none of them is of this answer.
func (h *Denials) Deny(now Denied) (all int) {
	h.now = now
	if now.Count == 0 {
		return 0
	}
	h.any = true
	return h.before.Count + now.Count
}

// Record makes the denials of the turn's n-th answer durable.
func (h *Denials) Record(ctx context.Context, n int) error {
	if h.now.Count == 0 {
		return nil
	}
	d := h.now
	d.denialOf = h.request()
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	c := h.conversation
	return c.shared.Store.PutTurn(ctx, h.key(), c.Request.Turn+suffix(n), value)
}

// key is the key under which denials are kept: that of the run where the agent names it,
// else that of the session. It contains the digest of an API key that the configuration
// does not know: agents with different keys share no denials.
func (h *Denials) key() string {
	who := h.conversation.Identity()
	apiKey := ""
	if h.conversation.Request.Client == "" {
		apiKey = h.conversation.Request.DigestKey()
	}
	if who.Named {
		return who.Key("denied in run", apiKey, who.Run)
	}
	return who.Key("denied in session", apiKey, who.Session)
}

// request describes the turn's own request.
func (h *Denials) request() denialOf {
	c := h.conversation
	d := denialOf{Turn: c.Request.Turn, Said: c.userMessage(), Made: c.Parsed.Made()}
	if key := c.Request.IdempotencyKey; key != "" {
		d.Once = intercept.Fingerprint(key)
	}
	return d
}

// add adds a later record.
func (d *Denied) add(next Denied) {
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
func (h *Denials) counts(of, request denialOf) bool {
	c := h.conversation
	shown := slices.Contains(c.continued.Denied, of.Turn) ||
		slices.ContainsFunc(c.Parsed.Placements(), func(p intercept.Placement) bool { return p.Turn == of.Turn })
	if of.Said != request.Said {
		return shown && c.corrects()
	}
	return shown || c.Identity().Named || h.sameConversation(of, request)
}

// sameConversation reports whether there is evidence that a request belongs to the
// conversation of the denied call, although the agent names no run: it is the same
// request, sent again by its client, or its history has the same ids from upstream. Equal
// words of the user are no evidence: other conversations begin with them too.
func (h *Denials) sameConversation(of, request denialOf) bool {
	if of.Turn == request.Turn || (of.Once != "" && of.Once == request.Once) {
		return true
	}
	return of.Made == request.Made && (request.Made != "" || h.conversation.Request.Retried)
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
// leaves the model no choice but one tool, as requests for structured output do, or the
// message is one of a framework's corrections.
func (c *Conversation) corrects() bool {
	message := strings.TrimSpace(c.Parsed.LastUser())
	return c.Offered.forces(c.Parsed) || slices.ContainsFunc(corrections[:], func(begins string) bool { return strings.HasPrefix(message, begins) })
}
