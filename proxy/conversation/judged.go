package conversation

import (
	"context"
	"encoding/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// JudgedResults are the results of calls in the agent's request, what the model reads in place
// of some of them, and what reviewers have decided about some of them before.
type JudgedResults struct {
	conversation *Conversation
	sent         []intercept.ResultContent // as the agent has sent them
	replaced     map[int]Replacement       // by the index in sent
	taint        string
}

// Replacement is what the model reads in place of a result: a text only, or the result with
// other texts.
type Replacement struct {
	Denied string   `json:"denied,omitempty"`
	Texts  []string `json:"texts,omitempty"`
}

// ReviewedResult is the record of a result about which people were asked.
type ReviewedResult struct {
	Key     string       `json:"key"`               // of the result
	Request string       `json:"request"`           // the id of the request
	Decided bool         `json:"decided,omitempty"` // Model is known
	Model   *Replacement `json:"model,omitempty"`   // nil: the model reads the result as it is, or as rules redact it
}

// Read lists the results of the request. Call it before the hidden turns are spliced in.
func (h *JudgedResults) Read() []intercept.ResultContent {
	h.sent = h.conversation.Parsed.ResultContents()
	return h.sent
}

// Replace sets what the model reads in place of the i-th result.
func (h *JudgedResults) Replace(i int, r Replacement) {
	if h.replaced == nil {
		h.replaced = make(map[int]Replacement)
	}
	h.replaced[i] = r
}

// Apply changes the request, to which the hidden turns were added.
func (h *JudgedResults) Apply() *intercept.Error {
	if len(h.replaced) == 0 {
		return nil
	}
	c := h.conversation
	err := intercept.ReplaceResults(c.Parsed, h.sent, func(i int, now *intercept.ResultContent) string {
		switch r, replaced := h.replaced[i]; {
		case !replaced:
			return ""
		case r.Denied != "":
			return now.Denied(&h.sent[i], r.Denied)
		default:
			return now.Redacted(&h.sent[i], r.Texts)
		}
	})
	return asRefusal(err)
}

// Call returns the call that had the i-th result. known is false where neither the request nor
// the answer that it continues has one call of that id.
func (h *JudgedResults) Call(i int) (call intercept.Call, known bool) {
	r := &h.sent[i]
	if r.Call != "" {
		return h.conversation.Parsed.ResultCall(r.Call), true
	}
	call.ID = r.CallID
	found := 0
	for _, c := range h.conversation.continues.Calls {
		if c.ID == r.CallID {
			call = c.call()
			found++
		}
	}
	return call, found == 1
}

// Taint returns the cause if the run is tainted, else "".
func (h *JudgedResults) Taint() string { return h.taint }

// LoadTaint reads whether an earlier request has tainted the run. Cause is the result of this
// request that taints it, "" for none; it is recorded if it is the first.
func (h *JudgedResults) LoadTaint(ctx context.Context, cause string) *intercept.Error {
	c := h.conversation
	key := c.Identity().Key("tainted run", c.Identity().Run)
	kept, refusal := c.records(ctx, key)
	switch {
	case refusal != nil:
		return refusal
	case len(kept) > 0:
		h.taint = string(kept[0])
		return nil
	}
	if h.taint = cause; cause == "" {
		return nil
	}
	return c.put(ctx, key, onceID, []byte(cause))
}

// reviewedKey is the key of the records of results about which people were asked in the
// session.
func (id *Identity) reviewedKey() string { return id.Key("results", id.Session) }

// ReviewKey is a key of the session's own for the key of a result.
func (h *JudgedResults) ReviewKey(result string) string {
	return h.conversation.sessionIdentity().Key("results", h.conversation.sessionIdentity().Session, result)
}

// Reviewed returns the records of the results about which people were asked in the session.
func (h *JudgedResults) Reviewed(ctx context.Context) (map[string]ReviewedResult, *intercept.Error) {
	c := h.conversation
	kept, refusal := c.records(ctx, c.sessionIdentity().reviewedKey())
	if refusal != nil {
		return nil, refusal
	}
	found := make(map[string]ReviewedResult, len(kept))
	for _, text := range kept {
		var one ReviewedResult
		if err := json.Unmarshal(text, &one); err != nil {
			c.shared.Log.Error("cannot read the record of a result; people may be asked about it again", "session", c.KnownSession(), "error", err)
			continue
		}
		found[one.Key] = one
	}
	return found, nil
}

// Review records that people are asked about a result, or what they have decided.
func (h *JudgedResults) Review(ctx context.Context, one ReviewedResult) *intercept.Error {
	text, err := json.Marshal(one)
	if err != nil {
		return asRefusal(err)
	}
	return h.conversation.put(ctx, h.conversation.sessionIdentity().reviewedKey(), one.Key, text)
}

// Request reads a request about a result of the session.
func (h *JudgedResults) Request(ctx context.Context, id string) (approvals.Request, error) {
	return h.conversation.shared.Requests.Request(ctx, id)
}
