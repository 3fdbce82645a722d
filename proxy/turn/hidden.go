package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// hiddenTurns are the hidden turns of the conversation, which are spliced into its
// requests, and the one-time approvals among them.
type hiddenTurns struct {
	conversation *conversation
	records      [][]byte // that were spliced in, if they are needed again
	consumed     []string // keys under which this request has consumed one-time approvals
}

// splice puts back what earlier turns of the conversation hid from the agent.
func (h *hiddenTurns) splice(ctx context.Context) *intercept.Error {
	c := h.conversation
	if !c.engine.Store.AnyTurns() {
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
		c.engine.metrics.spliced.Add(float64(c.parsed.Splice(records)))
		h.reportUnsure()
	}
	if c.engine.KeepAnswers || len(c.parsed.OneTimeApprovals()) > 0 {
		h.records = records
	}
	return nil
}

// load reads the records of all hidden turns that the request may contain.
func (h *hiddenTurns) load(ctx context.Context) (records [][]byte, refusal *intercept.Error) {
	c := h.conversation
	who := c.sessionIdentity()
	keys := []string{who.turnsKey()}
	for _, refer := range c.requestInfo().Refers {
		keys = append(keys, who.hiddenKey(refer))
	}
	for _, key := range keys {
		kept, refusal := c.recordsOf(ctx, key)
		if refusal != nil {
			return nil, refusal
		}
		for _, record := range kept {
			if !containsRecord(records, record) {
				records = append(records, record)
			}
		}
	}
	if c.continues.Again != nil {
		records = append(records, c.continues.Again)
	}
	return records, nil
}

func containsRecord(records [][]byte, record []byte) bool {
	return slices.ContainsFunc(records, func(known []byte) bool { return bytes.Equal(known, record) })
}

// parallelID is the id of the record that a session has several conversations, of which
// there is one a key.
const parallelID = "parallel"

// recordParallel records that a second conversation begins with the words that identify
// the session. What was hidden in the first is then spliced into none of the two where
// only its position matches.
func (h *hiddenTurns) recordParallel(ctx context.Context, records [][]byte) *intercept.Error {
	c := h.conversation
	parallel, who := intercept.ParallelConversation(), c.sessionIdentity()
	if containsRecord(records, parallel) || !who.Opened || !c.parsed.Begins() || c.request.Retried {
		return nil
	}
	if err := c.engine.Store.PutTurn(ctx, who.turnsKey(), parallelID, parallel); err != nil {
		c.engine.metrics.storeError("turns")
		return c.storeError(err)
	}
	return nil
}

// reportUnsure reports hidden turns of which the agent's history does not show for
// sure where they belong.
func (h *hiddenTurns) reportUnsure() {
	c := h.conversation
	for _, placed := range c.parsed.Placements() {
		if placed.Sure {
			continue
		}
		c.engine.metrics.unplaced.Inc()
		c.engine.log.Warn("a hidden turn has no certain place in the agent's history: the agent has changed the answer that it belongs to; the model reads it where the answer probably is",
			"hidden_turn", placed.Turn, "turn", c.request.Turn, "session", c.sessionIdentity().Session, "dialect", c.request.Dialect.Name())
	}
}

// remember makes durable what the agent will not see of an answer, and where the answer
// belongs if the agent can refer to it by an id. called reports that the answer had calls;
// denied, that calls of it were denied.
func (h *hiddenTurns) remember(ctx context.Context, settled intercept.Resolution, called, denied bool) error {
	c := h.conversation
	// Nothing need be kept of a session of which nothing was recorded.
	known := called || c.continues.Session != ""
	if len(settled.Hidden) == 0 && (len(settled.Refers) == 0 || !known) {
		return nil
	}
	if err := h.rememberHidden(ctx, settled); err != nil || !known {
		return err
	}
	who := c.identity()
	ref := responseRef{Session: who.Session, Run: who.Run, User: c.userMessage(), Denied: c.continues.Denied, Again: settled.AnswerRecord}
	if denied && !slices.Contains(ref.Denied, c.request.Turn) {
		ref.Denied = append(slices.Clip(ref.Denied), c.request.Turn)
	}
	value, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	for _, refer := range settled.Refers {
		if err := c.engine.Store.PutTurn(ctx, who.responseRefKey(refer), responseRefID, value); err != nil {
			return err
		}
	}
	return nil
}

// rememberHidden makes the hidden turns durable, by session and by the provider's ids.
func (h *hiddenTurns) rememberHidden(ctx context.Context, settled intercept.Resolution) error {
	c := h.conversation
	who := c.identity()
	keys := []string{who.turnsKey()}
	for _, refer := range settled.Refers {
		keys = append(keys, who.hiddenKey(refer))
	}
	for i, record := range settled.Hidden {
		for _, key := range keys {
			if err := c.engine.Store.PutTurn(ctx, key, c.request.Turn+suffix(i), record); err != nil {
				return err
			}
		}
	}
	return nil
}

// suffix makes an id from that of a turn for the i-th record of it.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + string(rune('a'+i%26)) + suffix(i/26)
}
