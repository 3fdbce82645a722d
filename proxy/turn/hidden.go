package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// responseRef is where an answer belongs that the agent later refers to by the provider's
// id of it (previous_response_id), instead of repeating the conversation.
type responseRef struct {
	Session string   `json:"session"`
	Run     string   `json:"run"`
	User    string   `json:"user,omitempty"`   // see userMessage
	Denied  []string `json:"denied,omitempty"` // the answers up to here of which calls were denied
	Again   []byte   `json:"again,omitempty"`  // the record for a request that asks for the answer again
}

// responseRefID is the id under which a responseRef is kept. There is one a key.
const responseRefID = "thread"

// responseRefKey and hiddenKey are the keys of what is kept under a provider's id.
func (id *Identity) responseRefKey(refer string) string { return id.key("thread", refer) }
func (id *Identity) hiddenKey(refer string) string      { return id.key("hidden", refer) }

// resume finds session and run of a request that continues an answer by its id.
func (c *conversation) resume(ctx context.Context) *intercept.Error {
	if !c.engine.Store.AnyTurns() {
		return nil
	}
	who := Identity{Principal: c.request.Principal}
	for _, refer := range c.requestInfo().Refers {
		kept, refusal := c.recordsOf(ctx, who.responseRefKey(refer))
		if refusal != nil {
			return refusal
		}
		if len(kept) > 0 && json.Unmarshal(kept[0], &c.continues) == nil && c.continues.Session != "" {
			return nil
		}
	}
	return nil
}

// splice puts back what earlier turns of the conversation hid from the agent.
func (c *conversation) splice(ctx context.Context) *intercept.Error {
	if !c.engine.Store.AnyTurns() {
		return nil
	}
	records, refusal := c.hiddenRecords(ctx)
	if refusal != nil {
		return refusal
	}
	if len(records) > 0 {
		if refusal := c.recordParallel(ctx, records); refusal != nil {
			return refusal
		}
		c.engine.metrics.spliced.Add(float64(c.parsed.Splice(records)))
		c.reportUnsure()
	}
	if c.engine.KeepAnswers || len(c.parsed.Spends()) > 0 {
		c.records = records
	}
	return nil
}

// hiddenRecords reads the records of all hidden turns that the request may contain.
func (c *conversation) hiddenRecords(ctx context.Context) (records [][]byte, refusal *intercept.Error) {
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
func (c *conversation) recordParallel(ctx context.Context, records [][]byte) *intercept.Error {
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
func (c *conversation) reportUnsure() {
	for _, placed := range c.parsed.Placed() {
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
func (c *conversation) remember(ctx context.Context, settled intercept.Settlement, called, denied bool) error {
	// Nothing need be kept of a session of which nothing was recorded.
	known := called || c.continues.Session != ""
	if len(settled.Hidden) == 0 && (len(settled.Refers) == 0 || !known) {
		return nil
	}
	if err := c.rememberHidden(ctx, settled); err != nil || !known {
		return err
	}
	who := c.identity()
	ref := responseRef{Session: who.Session, Run: who.Run, User: c.userMessage(), Denied: c.continues.Denied, Again: settled.Again}
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
func (c *conversation) rememberHidden(ctx context.Context, settled intercept.Settlement) error {
	who := c.identity()
	keys := []string{who.turnsKey()}
	for _, refer := range settled.Refers {
		keys = append(keys, who.hiddenKey(refer))
	}
	for i, hidden := range settled.Hidden {
		for _, key := range keys {
			if err := c.engine.Store.PutTurn(ctx, key, c.request.Turn+suffix(i), hidden); err != nil {
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
