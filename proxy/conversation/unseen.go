package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// UnseenResults are the results of released calls with which an agent's request should continue the
// conversation and which it does not have: some frameworks send them as a text of the user, where
// no rule about results can judge them. A conversation is known by its session and its first message.
type UnseenResults struct {
	conversation *Conversation
	key          string // of the record, once it is known
	loaded       bool
	record       releasedRecord
	missing      []intercept.Call // whose results should be in the request
}

// releasedRecord has the calls that the agent got with the last answer of a conversation.
type releasedRecord struct {
	Calls []releasedCall `json:"calls,omitempty"`
	Items int            `json:"items"`           // of the history that the agent sent before
	Said  bool           `json:"said,omitempty"`  // that results were missing
	Taint string         `json:"taint,omitempty"` // the run, because of such a call
}

// Read compares the request with the calls that were released before it. Results are those of the request. Call it
// before the hidden turns are spliced in.
func (h *UnseenResults) Read(ctx context.Context, results *JudgedResults) *intercept.Error {
	if refusal := h.load(ctx); refusal != nil || len(h.record.Calls) == 0 {
		return refusal
	}
	history := h.history(results.read)
	if len(history) <= h.record.Items {
		return nil // the agent repeats its request, or has shortened the conversation
	}
	begin, ids := history[h.record.Items].Index, h.conversation.Parsed.ResultIDs()
	for i := range results.sent {
		if r := &results.sent[i]; r.At.Start >= begin {
			ids = append(ids, r.CallID)
		}
	}
	awaited := slices.Clone(h.record.Calls)
	for _, id := range ids {
		i := slices.IndexFunc(awaited, func(c releasedCall) bool { return id == cmp.Or(c.ID, intercept.UnnamedCallID(c.Name)) })
		if i < 0 && !slices.ContainsFunc(h.record.Calls, func(c releasedCall) bool { return id == c.ID }) {
			return nil // the agent has given the calls ids of its own, or this is another conversation with the same beginning
		}
		if i >= 0 {
			awaited = slices.Delete(awaited, i, i+1)
		}
	}
	for i := range awaited {
		h.missing = append(h.missing, awaited[i].call())
	}
	return nil
}

// counts reports whether the request has the whole history, and the model answers it.
func (h *UnseenResults) counts() bool {
	info := h.conversation.Info()
	return !info.Auxiliary && len(info.Refers) == 0
}

// load reads the record of the conversation, once.
func (h *UnseenResults) load(ctx context.Context) *intercept.Error {
	c := h.conversation
	if h.loaded || !h.counts() || !c.recorded.any() {
		return nil
	}
	h.loaded = true
	records, refusal := c.records(ctx, h.recordKey())
	if refusal != nil || len(records) == 0 {
		return refusal
	}
	if err := json.Unmarshal(records[0], &h.record); err != nil {
		c.shared.Log.Error("cannot read which results are awaited", "session", c.KnownSession(), "error", err)
	}
	return nil
}

// recordKey is the key of the record. The session may contain several conversations.
func (h *UnseenResults) recordKey() string {
	if c := h.conversation; h.key == "" {
		who := c.sessionIdentity()
		h.key = who.Key("released", who.Session, c.shared.Digests.hex(c.Parsed.Opening(), 8))
	}
	return h.key
}

// history are the items of the history in a body.
func (h *UnseenResults) history(body []byte) []gjson.Result {
	return gjson.GetBytes(body, h.conversation.Parsed.HistoryField()).Array()
}

// Missing are the released calls without which the conversation continues.
func (h *UnseenResults) Missing() []intercept.Call { return h.missing }

// Tools are the names of their tools.
func (h *UnseenResults) Tools() string {
	var names []string
	for _, call := range h.missing {
		if !slices.Contains(names, call.Name) {
			names = append(names, call.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Said reports whether it was said that results of the conversation are missing. Taint is the cause if such a call
// taints the run, "" for none.
func (h *UnseenResults) Said() (said bool, taint string) { return h.record.Said, h.record.Taint }

// Say records that it is said now, and what taints the run.
func (h *UnseenResults) Say(ctx context.Context, taint string) *intercept.Error {
	first := !h.record.Said
	if !first && taint == h.record.Taint {
		return nil
	}
	h.record.Said, h.record.Taint = true, taint
	refusal := h.put(ctx)
	if refusal == nil && first {
		h.conversation.shared.Metrics.Unseen.Inc()
	}
	return refusal
}

// Released records the calls that the agent gets with the answer. An answer without calls needs a record only if
// results are no longer awaited.
func (h *UnseenResults) Released(ctx context.Context) error {
	if refusal := h.load(ctx); refusal != nil {
		return refusal
	}
	c := h.conversation
	calls := c.Hidden.released
	if !h.counts() || (len(calls) == 0 && (len(h.record.Calls) == 0 || len(h.missing) > 0)) {
		return nil
	}
	h.record.Calls, h.record.Items = calls, len(h.history(c.Request.Envelope.Body))
	if refusal := h.put(ctx); refusal != nil {
		return refusal
	}
	return nil
}

func (h *UnseenResults) put(ctx context.Context) *intercept.Error {
	value, err := json.Marshal(h.record)
	if err != nil {
		return intercept.Refusal(err)
	}
	return h.conversation.put(ctx, h.recordKey(), onceID, value)
}
