package conversation

import (
	"bytes"
	"context"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// HiddenTurns are the hidden turns of the conversation, which are spliced into its
// requests, and the one-time approvals among them.
type HiddenTurns struct {
	conversation *Conversation
	records      [][]byte // that were spliced in, if they are needed again
	consumed     []string // keys under which this request has consumed one-time approvals
	parked       []approvals.Request
	parkedIn     map[string][]string // ids of requests about parked calls, by the turn of a record
	shared       []string            // ids of requests that another turn has asked: see [Conversation.AskOnce]
	released     []releasedCall      // in this answer, for the request that continues it
}

// releasedCall is a call that the agent got.
type releasedCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
	FreeText  bool   `json:"free_text,omitempty"`
	Cut       bool   `json:"cut,omitempty"` // the arguments were too long to be recorded
}

// maxReleasedArguments bounds the recorded arguments of one call, in bytes.
const maxReleasedArguments = 4 << 10

// Released sets the calls of the answer that the agent gets.
func (h *HiddenTurns) Released(calls []intercept.Call) {
	h.released = nil
	for _, c := range calls {
		call := releasedCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments, FreeText: c.FreeText}
		if len(call.Arguments) > maxReleasedArguments {
			call.Arguments, call.Cut = "", true
		}
		h.released = append(h.released, call)
	}
}

// call is the call as policy judges it.
func (r *releasedCall) call() intercept.Call {
	c := intercept.Call{ID: r.ID, Name: r.Name, Arguments: r.Arguments, FreeText: r.FreeText}
	if r.Cut {
		c.Ambiguous = []string{"Its arguments are too long to be recorded."}
	}
	return c
}

// Splice puts the hidden turns of the conversation back into the request.
func (h *HiddenTurns) Splice(ctx context.Context) *intercept.Error {
	c := h.conversation
	if !c.recorded.any() {
		return nil
	}
	records, refusal := h.load(ctx)
	if refusal != nil {
		return refusal
	}
	if len(records) > 0 {
		if refusal := h.recordParallel(ctx, records); refusal != nil {
			return refusal
		}
		c.shared.Metrics.Spliced.Add(float64(c.Parsed.Splice(records)))
		h.reportUnsure()
	}
	if c.shared.KeepRecords || len(c.Parsed.OneTimeApprovals()) > 0 {
		h.records = records
	}
	return nil
}

// load reads the records of all hidden turns that the request may contain.
func (h *HiddenTurns) load(ctx context.Context) (records [][]byte, refusal *intercept.Error) {
	c := h.conversation
	for _, key := range c.sessionIdentity().hiddenKeys(c.Info().Refers) {
		kept, refusal := c.records(ctx, key)
		if refusal != nil {
			return nil, refusal
		}
		for _, record := range kept {
			if !containsRecord(records, record) && c.continued.isOf(record) {
				records = append(records, record)
			}
		}
	}
	if c.continued.Again != nil {
		records = append(records, c.continued.Again)
	}
	h.noteParked(records)
	if refusal := h.fillParked(ctx, records); refusal != nil {
		return nil, refusal
	}
	texts, refusal := h.decidedLater(ctx)
	if len(texts) > 0 {
		records = append(records, notice.DecidedLater(texts))
	}
	return records, refusal
}

func containsRecord(records [][]byte, record []byte) bool {
	return slices.ContainsFunc(records, func(other []byte) bool { return bytes.Equal(other, record) })
}

// parallelID is the id of the record that a session has several conversations, of which
// there is one a key.
const parallelID = "parallel"

// recordParallel records that a second conversation begins with the words that identify
// the session. What was hidden in the first is then spliced into none of the two where
// only its position matches.
func (h *HiddenTurns) recordParallel(ctx context.Context, records [][]byte) *intercept.Error {
	c := h.conversation
	parallel, who := intercept.ParallelConversation(), c.sessionIdentity()
	if containsRecord(records, parallel) || !who.Opened || !c.Parsed.Begins() || c.Request.Retried {
		return nil
	}
	return c.put(ctx, who.turnsKey(), parallelID, parallel)
}

// reportUnsure reports hidden turns whose place in the agent's history is not certain.
func (h *HiddenTurns) reportUnsure() {
	c := h.conversation
	for _, placed := range c.Parsed.Placements() {
		if placed.Sure {
			continue
		}
		c.shared.Metrics.Unplaced.Inc()
		c.shared.Log.Warn("a hidden turn has no certain place: the agent has changed the answer that it belongs to; the model reads it at the most probable place",
			"hidden_turn", placed.Turn, "turn", c.Request.Turn, "session", c.sessionIdentity().Session, "dialect", c.Request.Dialect.Name())
	}
}

// hiddenKeys are the keys of hidden turns: that of the session, and one for each of the
// provider's ids.
func (id *Identity) hiddenKeys(refers []string) []string {
	keys := []string{id.turnsKey()}
	for _, refer := range refers {
		keys = append(keys, id.Key("hidden", refer))
	}
	return keys
}

// Remember makes the hidden turns of an answer durable, and what a request needs to know that
// continues the answer by the provider's id. called reports whether the answer had calls.
func (h *HiddenTurns) Remember(ctx context.Context, settled intercept.Resolution, called bool) error {
	c := h.conversation
	for i, record := range settled.Hidden {
		for _, key := range c.Identity().hiddenKeys(settled.Refers) {
			if err := c.shared.Store.PutTurn(ctx, key, c.Request.Turn+suffix(i), record); err != nil {
				return err
			}
		}
	}
	// A session without records needs none, unless the agent may send the whole conversation later: that belongs to
	// the same session.
	if recorded := called || c.continued.Session != "" || settled.Threaded; len(settled.Refers) == 0 || !recorded {
		return nil
	}
	return c.keep(ctx, settled)
}

// suffix makes an id from that of a turn for the i-th record of it.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + string(rune('a'+i%26)) + suffix(i/26)
}
