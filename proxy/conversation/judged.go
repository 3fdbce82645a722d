package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/heldcall/heldcall/internal/recent"
)

// JudgedResults are the results of calls in the agent's request, what the model reads in place
// of some of them, and what reviewers have decided about some of them before.
type JudgedResults struct {
	conversation *Conversation
	sent         []toolresult.Content // as the agent has sent them
	read         []byte               // the body in which they are
	replaced     map[int]Replacement  // by the index in sent
	taint        string
	denied       []DeniedResult // in the session, once they were needed
	deniedLoaded bool
}

// Replacement is what the model reads in place of a result: a text only, or the result with
// other texts.
type Replacement struct {
	Denied string   `json:"denied,omitempty"`
	Texts  []string `json:"texts,omitempty"`
}

// size is the number of bytes of its texts, 0 for nil.
func (r *Replacement) size() (n int) {
	if r == nil {
		return 0
	}
	n = len(r.Denied)
	for _, text := range r.Texts {
		n += len(text)
	}
	return n
}

// The bounds of one generation of the memory of decisions about results: see package recent.
const (
	maxReviewed     = 10_000
	maxReviewedText = 8 << 20
)

// ReviewedResults has what people have decided about results, by keys of session and result.
type ReviewedResults = recent.Map[string, *Replacement]

// NewReviewedResults returns an empty memory.
func NewReviewedResults() *ReviewedResults {
	return recent.New[string, *Replacement](maxReviewed, maxReviewedText)
}

// ReviewedResult is the record of a result about which people were asked.
type ReviewedResult struct {
	Key     string       `json:"key"`               // of the result
	Request string       `json:"request"`           // the id of the request
	Decided bool         `json:"decided,omitempty"` // Model is known
	Model   *Replacement `json:"model,omitempty"`   // nil: the model reads the result as it is, or as rules redact it
}

// Read lists the results of the request. Call it before the hidden turns are spliced in.
func (h *JudgedResults) Read() []toolresult.Content {
	h.sent, h.read = h.conversation.Parsed.ResultContents(), h.conversation.Parsed.Envelope().Body
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
	parsed := h.conversation.Parsed
	body := parsed.Envelope().Body
	now := h.sent
	if !bytes.Equal(body, h.read) {
		now = parsed.ResultContents()
	}
	replaced, err := toolresult.Replace(body, now, h.sent, func(i int, now *toolresult.Content) string {
		switch r, replaced := h.replaced[i]; {
		case !replaced:
			return ""
		case r.Denied != "":
			return now.Denied(&h.sent[i], r.Denied)
		default:
			return now.Redacted(&h.sent[i], r.Texts)
		}
	})
	if err == nil {
		err = parsed.SetBody(replaced)
	}
	return intercept.Refusal(err)
}

// Call returns the call that had the i-th result. known is false where neither the request nor
// the answer that it continues has one call of that id.
func (h *JudgedResults) Call(i int) (call intercept.Call, known bool) {
	r := &h.sent[i]
	if r.Call != "" {
		return h.conversation.Request.Dialect.ResultCall(r.Call), true
	}
	return h.conversation.continued.call(r.CallID)
}

// reviewedKey is the key of the records of results about which people were asked in the
// session.
func (id *Identity) reviewedKey() string { return id.Key("results", id.Session) }

// Reviewed returns the record of a result, by its key, if people were asked about it in the
// session. The memory has those that are decided.
func (h *JudgedResults) Reviewed(ctx context.Context, result string) (reviewed ReviewedResult, known bool, refusal *intercept.Error) {
	c := h.conversation
	who := c.sessionIdentity()
	if model, known := c.shared.Reviewed.Get(who.Key("results", who.Session, result), (*Replacement).size); known {
		return ReviewedResult{Key: result, Decided: true, Model: model}, true, nil
	}
	kept, refusal := c.records(ctx, who.reviewedKey())
	for _, text := range kept {
		var record ReviewedResult
		if err := json.Unmarshal(text, &record); err != nil {
			c.shared.Log.Error("cannot read the record of a result; people may be asked about it again", "session", c.KnownSession(), "error", err)
			continue
		}
		if record.Decided {
			h.remember(&record)
		}
		if record.Key == result {
			reviewed, known = record, true
		}
	}
	return reviewed, known, refusal
}

func (h *JudgedResults) remember(reviewed *ReviewedResult) {
	who := h.conversation.sessionIdentity()
	h.conversation.shared.Reviewed.Put(who.Key("results", who.Session, reviewed.Key), reviewed.Model, reviewed.Model.size())
}

// Review records that people are asked about a result, or what they have decided.
func (h *JudgedResults) Review(ctx context.Context, reviewed ReviewedResult) *intercept.Error {
	text, err := json.Marshal(reviewed)
	if err != nil {
		return intercept.Refusal(err)
	}
	refusal := h.conversation.put(ctx, h.conversation.sessionIdentity().reviewedKey(), reviewed.Key, text)
	if refusal == nil && reviewed.Decided {
		h.remember(&reviewed)
	}
	return refusal
}

// DeniedResult is the record of a result that the model does not read. It stays denied in any form under its id.
type DeniedResult struct {
	CallID string `json:"call_id"`
	Made   string `json:"made,omitempty"` // identifies the call, "" where it is not known
	Key    string `json:"key"`            // of the result in the form that was denied
	// Essence is what all forms of the result have in common.
	Essence string `json:"essence"`
	Text    string `json:"text"` // for the model
}

// deniedKey is the key of the records of denied results in the session.
func (id *Identity) deniedKey() string { return id.Key("denied results", id.Session) }

// Denied returns the results that were denied in the session.
func (h *JudgedResults) Denied(ctx context.Context) ([]DeniedResult, *intercept.Error) {
	c := h.conversation
	if h.deniedLoaded || !c.recorded.any() {
		return h.denied, nil
	}
	kept, refusal := c.records(ctx, c.sessionIdentity().deniedKey())
	for _, text := range kept {
		var record DeniedResult
		if err := json.Unmarshal(text, &record); err != nil {
			c.shared.Log.Error("cannot read the record of a denied result", "session", c.KnownSession(), "error", err)
			continue
		}
		h.denied = append(h.denied, record)
	}
	h.deniedLoaded = refusal == nil
	return h.denied, refusal
}

// Deny records that a result is denied, once.
func (h *JudgedResults) Deny(ctx context.Context, r DeniedResult) *intercept.Error {
	denied, refusal := h.Denied(ctx)
	if refusal != nil || r.CallID == "" || slices.Contains(denied, r) {
		return refusal
	}
	text, err := json.Marshal(r)
	if err != nil {
		return intercept.Refusal(err)
	}
	c := h.conversation
	if refusal := c.put(ctx, c.sessionIdentity().deniedKey(), r.Key, text); refusal != nil {
		return refusal
	}
	h.denied = append(h.denied, r)
	return nil
}

// Request reads a request about a result of the session.
func (h *JudgedResults) Request(ctx context.Context, id string) (approvals.Request, error) {
	return h.conversation.shared.Requests.Request(ctx, id)
}
