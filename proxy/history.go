package proxy

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// thread is where an answer belongs that the agent later refers to by the
// provider's id of it (previous_response_id), instead of repeating what was said.
type thread struct {
	Session string   `json:"session"`
	Run     string   `json:"run"`
	User    string   `json:"user,omitempty"`   // see userSaid
	Denied  []string `json:"denied,omitempty"` // the answers up to here of which calls were denied
	Again   []byte   `json:"again,omitempty"`  // the record for a request that asks for the answer again
}

// threadID is the id under which a thread is kept, of which there is one a key.
const threadID = "thread"

// threadKey and hiddenKey are the keys of what is kept under a provider's id.
func (id *identity) threadKey(refer string) string { return id.key("thread", refer) }
func (id *identity) hiddenKey(refer string) string { return id.key("hidden", refer) }

// follow finds session and run of a request that goes on from an answer by its
// id.
func (x *exchange) follow() *intercept.Error {
	if !x.p.options.Turns.AnyTurns() {
		return nil
	}
	refers := x.info().Refers
	if len(refers) == 0 {
		return nil
	}
	who := identity{principal: x.p.principal(&x.fasthttp.Request.Header)}
	for _, refer := range refers {
		kept, refusal := x.turnsOf(who.threadKey(refer))
		if refusal != nil {
			return refusal
		}
		if len(kept) > 0 && json.Unmarshal(kept[0], &x.followed) == nil && x.followed.Session != "" {
			return nil
		}
	}
	return nil
}

// splice puts back what earlier turns of the conversation hid from the agent.
func (x *exchange) splice() *intercept.Error {
	if !x.p.options.Turns.AnyTurns() {
		return nil
	}
	who := x.conversation()
	keys := []string{who.turnsKey()}
	for _, refer := range x.info().Refers {
		keys = append(keys, who.hiddenKey(refer))
	}
	var records [][]byte
	for _, key := range keys {
		kept, refusal := x.turnsOf(key)
		if refusal != nil {
			return refusal
		}
		for _, record := range kept {
			if !slices.ContainsFunc(records, func(known []byte) bool { return bytes.Equal(known, record) }) {
				records = append(records, record)
			}
		}
	}
	if x.followed.Again != nil {
		records = append(records, x.followed.Again)
	}
	if len(records) > 0 {
		if refusal := x.noteParallel(who, records); refusal != nil {
			return refusal
		}
		x.p.metrics.spliced.Add(float64(x.req.Splice(records)))
		x.reportUnsure()
	}
	if len(x.req.Spends()) > 0 {
		x.uses.records = records
	}
	return nil
}

// parallelID is the id of the record that a session has several conversations, of which
// there is one a key.
const parallelID = "parallel"

// noteParallel records that a second conversation begins with the words by which the
// session is known. What was hidden in the first is told in none of the two where only
// the position speaks for it.
func (x *exchange) noteParallel(who *identity, records [][]byte) *intercept.Error {
	parallel := intercept.ParallelConversation()
	known := slices.ContainsFunc(records, func(record []byte) bool { return bytes.Equal(record, parallel) })
	if known || !who.opened || !x.req.Begins() || x.retried() {
		return nil
	}
	if err := x.p.options.Turns.PutTurn(x.ctx, who.turnsKey(), parallelID, parallel); err != nil {
		x.p.metrics.storeErrors.WithLabelValues("turns").Inc()
		return x.storeError(err)
	}
	return nil
}

// reportUnsure reports hidden turns of which the agent's history does not show for
// sure where they belong.
func (x *exchange) reportUnsure() {
	for _, placed := range x.req.Placed() {
		if placed.Sure {
			continue
		}
		x.p.metrics.unplaced.Inc()
		x.p.log.Warn("a hidden turn has no certain place in the agent's history: the agent has changed the answer that it belongs to; the model reads it where the answer probably is",
			"hidden_turn", placed.Turn, "turn", x.turn, "session", x.conversation().session, "dialect", x.route.Dialect.Name())
	}
}

func (x *exchange) turnsOf(key string) ([][]byte, *intercept.Error) {
	if !x.p.options.Turns.HasTurns(key) {
		return nil, nil
	}
	kept, err := x.p.options.Turns.Turns(x.ctx, key)
	if err != nil {
		x.p.metrics.storeErrors.WithLabelValues("turns").Inc()
		return nil, &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "the hidden turns of this conversation cannot be read; try again", Err: err}
	}
	return kept, nil
}

// remembers makes durable what the agent will not see of an answer, and where
// the answer belongs if the agent can refer to it by an id.
func (x *exchange) remembers(settled intercept.Settlement) error {
	// Nothing need be kept of a session that nobody has heard of.
	heard := len(x.docket.cases) > 0 || len(x.answer.Passed()) > 0 || x.followed.Session != ""
	if len(settled.Hidden) == 0 && (len(settled.Refers) == 0 || !heard) {
		return nil
	}
	who, turns := x.identity(), x.p.options.Turns
	keys := []string{who.turnsKey()}
	for _, refer := range settled.Refers {
		keys = append(keys, who.hiddenKey(refer))
	}
	for i, hidden := range settled.Hidden {
		for _, key := range keys {
			if err := turns.PutTurn(x.ctx, key, x.turn+suffix(i), hidden); err != nil {
				return err
			}
		}
	}
	if !heard {
		return nil
	}
	is := thread{Session: who.session, Run: who.run, User: x.userSaid(), Denied: x.followed.Denied, Again: settled.Again}
	if x.denies && !slices.Contains(is.Denied, x.turn) {
		is.Denied = append(slices.Clip(is.Denied), x.turn)
	}
	value, err := json.Marshal(is)
	if err != nil {
		return err
	}
	for _, refer := range settled.Refers {
		if err := turns.PutTurn(x.ctx, who.threadKey(refer), threadID, value); err != nil {
			return err
		}
	}
	return nil
}

func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + string(rune('a'+i%26)) + suffix(i/26)
}
