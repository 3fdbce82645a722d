package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// Some providers keep conversations: an agent continues an answer by its id, and sends new messages
// only (Responses with previous_response_id or in a conversation, Messages in a thread), or it fetches an
// answer again. This file is the one place that finds out which answer such a request continues, in
// which session and run, and what the model has to be told. How that is written is the dialect's: the
// records of hidden turns have what the provider lacks of the answer, see [intercept.KeptAnswer].

// keptAnswer is what is recorded of an answer that the provider keeps, by the provider's id of it.
type keptAnswer struct {
	Turn    string   `json:"turn,omitempty"` // of the answer, in a thread
	Session string   `json:"session"`
	Run     string   `json:"run"`
	User    string   `json:"user,omitempty"`   // see userMessage
	Users   int      `json:"users,omitempty"`  // how many messages the user wrote before the answer
	Denied  []string `json:"denied,omitempty"` // the earlier answers with denied calls
	Again   []byte   `json:"again,omitempty"`  // the record for a request that asks for the answer again
	// Calls are those of the answer, whose results the agent sends without them. They are
	// recorded where a policy judges results.
	Calls  []releasedCall `json:"calls,omitempty"`
	Parked []string       `json:"parked,omitempty"` // the requests about its parked calls
	// Waiting are the requests about earlier parked calls that were pending when the model
	// read their notices.
	Waiting []string `json:"waiting,omitempty"`
	// Approved are the requests about earlier parked calls that were approved then.
	Approved []string `json:"approved,omitempty"`
	// Offered are the tools of heldcall's that the provider keeps with those of the agent.
	Offered []string `json:"offered,omitempty"`
	// Lost reports that the provider's conversation cannot be continued: see [intercept.Resolution].
	Lost bool `json:"lost,omitempty"`
}

// keptAnswerID is the id under which a keptAnswer is recorded. There is one a key.
const keptAnswerID = "thread"

// keptAnswerKey is the key of the keptAnswer with a provider's id.
func (id *Identity) keptAnswerKey(refer string) string { return id.Key("thread", refer) }

// resume finds the answer that the request continues by its id. It refuses a request that has to
// bring the whole conversation instead.
func (c *Conversation) resume(ctx context.Context) *intercept.Error {
	if !c.recorded.any() {
		return nil
	}
	who := Identity{Principal: c.Request.Principal}
	for _, refer := range c.Info().Refers {
		kept, refusal := c.records(ctx, who.keptAnswerKey(refer))
		if refusal != nil {
			return refusal
		}
		if len(kept) > 0 && json.Unmarshal(kept[0], &c.continued) == nil && c.continued.Session != "" {
			break
		}
	}
	if c.continued.Lost {
		return errThreadLost()
	}
	if c.Info().ToolsKept {
		c.Offered.names = c.continued.Offered
	}
	return nil
}

// errThreadLost is the error for a request that continues an answer by its id and cannot: the agent has to send the
// whole conversation.
func errThreadLost() *intercept.Error {
	return &intercept.Error{Code: intercept.CodeThreadNotFound, Reason: "the conversation cannot be continued by the id of its last answer, because of what was decided about its calls; send the whole conversation"}
}

// keep records an answer that the provider keeps.
func (c *Conversation) keep(ctx context.Context, settled intercept.Resolution) error {
	who, denied := c.Identity(), c.continued.Denied
	if c.Denials.any && !slices.Contains(denied, c.Request.Turn) {
		denied = append(slices.Clip(denied), c.Request.Turn)
	}
	kept := keptAnswer{
		Session: who.Session, Run: who.Run, User: c.userMessage(), Users: c.continued.Users + c.Info().Users, Denied: denied,
		Again: settled.AnswerRecord, Calls: c.Hidden.released, Offered: c.Offered.names, Lost: settled.Lost,
	}
	if settled.Threaded {
		kept.Turn = c.Request.Turn
	}
	c.parkedUpTo(&kept, settled)
	value, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	for _, refer := range settled.Refers {
		if err := c.shared.Store.PutTurn(ctx, who.keptAnswerKey(refer), keptAnswerID, value); err != nil {
			return err
		}
	}
	return nil
}

// AskOnce returns the request to people about a call of an answer that the provider keeps: any number of
// agents' requests may fetch the answer, on any replica, and all of them wait for one decision. It is
// q, which is recorded, where the answer is new or nobody has asked before; else that of the turn that
// has. Answer is the provider's id, call identifies the call in the answer.
func (c *Conversation) AskOnce(ctx context.Context, answer, call string, q *approvals.Request) (approvals.Request, *intercept.Error) {
	key := c.sessionIdentity().Key("asked", answer, call)
	value, err := json.Marshal(q)
	if err != nil {
		return *q, intercept.Refusal(err)
	}
	for attempt := 0; ; attempt++ {
		records, refusal := c.records(ctx, key)
		if refusal != nil {
			return *q, refusal
		}
		if c.Info().Fetches {
			asked, counts, refusal := c.askedBefore(ctx, records)
			if refusal != nil {
				return *q, refusal
			}
			if counts {
				c.Hidden.shared = append(c.Hidden.shared, asked.ID)
				return asked, nil
			}
		}
		taken, err := c.shared.Store.TakeTurn(ctx, key, strconv.Itoa(len(records)), value)
		if err == nil && !taken { // another one was faster
			err = approvals.Pause(ctx, attempt)
		}
		if err != nil {
			c.shared.Metrics.StoreErrors.Inc()
			return *q, c.StoreError(err)
		}
		if taken {
			return *q, nil
		}
	}
}

// askedBefore returns the last of the recorded requests about one call, and whether its decision counts:
// it has not ended without one.
func (c *Conversation) askedBefore(ctx context.Context, records [][]byte) (last approvals.Request, counts bool, refusal *intercept.Error) {
	for _, record := range records {
		var q approvals.Request
		if err := json.Unmarshal(record, &q); err != nil {
			return last, false, intercept.Refusal(err)
		}
		if q.ID > last.ID {
			last = q
		}
	}
	if last.ID == "" {
		return last, false, nil
	}
	q, err := c.shared.Requests.Request(ctx, last.ID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // it is about to be opened, or its heldcall has died before
		return last, time.Now().Before(last.ExpiresAt), nil
	case err != nil:
		c.shared.Metrics.StoreErrors.Inc()
		return last, false, c.StoreError(err)
	case q.Status == approvals.StatusApproved:
		return last, time.Now().Before(q.ApprovalEnd()), nil
	}
	return last, q.Status != approvals.StatusCancelled, nil
}

// isOf reports whether a record of a hidden turn may be of the answer. Some servers give several messages
// one id.
func (k *keptAnswer) isOf(record []byte) bool {
	var of intercept.TurnFingerprint
	return k.Turn == "" || json.Unmarshal(record, &of) != nil || of.Turn == "" || of.Turn == k.Turn
}

// continuationTime is how long a turn may take to continue a stored answer before others that fetch the
// answer do not wait for it any more.
const continuationTime = 30 * time.Second

// ContinuedElsewhere reports whether another turn, on any replica, is about to continue a part of the stored
// answer that the request fetches, so that this one has to wait for the continuation. It is false for the
// first turn that asks, if that takes too long, once the continuation is known, and while the store cannot say:
// then the model may be asked twice.
func (c *Conversation) ContinuedElsewhere(ctx context.Context, part string) bool {
	if part == "" || !c.Info().Fetches || c.Parsed.Continued(part) {
		return false
	}
	key := c.sessionIdentity().Key("continued", part)
	began, err := json.Marshal(continuation{c.Request.Turn, time.Now()})
	if err != nil {
		return false
	}
	taken, err := c.shared.Store.TakeTurn(ctx, key, onceID, began)
	if err != nil || taken {
		return false
	}
	records, err := c.shared.Store.Turns(ctx, key)
	var other continuation
	if err != nil || len(records) == 0 || json.Unmarshal(records[0], &other) != nil || other.Turn == c.Request.Turn || time.Since(other.Began) > continuationTime {
		return false
	}
	hidden, refusal := c.Hidden.load(ctx)
	if refusal != nil {
		return false
	}
	c.Parsed.Splice(hidden)
	return !c.Parsed.Continued(part)
}

// continuation is the record of a turn that continues a stored answer.
type continuation struct {
	Turn  string    `json:"turn"`
	Began time.Time `json:"began"`
}

// call returns the call with an id of the answer. known is false where not exactly one call has it.
func (k *keptAnswer) call(id string) (call intercept.Call, known bool) {
	call.ID = id
	count := 0
	for i := range k.Calls {
		if k.Calls[i].ID == id {
			call = k.Calls[i].call()
			count++
		}
	}
	return call, count == 1
}

// hasParked reports whether the conversation up to the answer has the parked call of a request.
func (k *keptAnswer) hasParked(request string) bool {
	return slices.Contains(k.Parked, request) || slices.Contains(k.Waiting, request) || slices.Contains(k.Approved, request)
}

// decidedLater returns the texts about parked calls that were decided after the model had
// read their notices, in an answer that the request continues by the provider's id. The
// provider keeps the notices, so they cannot be changed there.
func (h *HiddenTurns) decidedLater(ctx context.Context) (texts []string, refusal *intercept.Error) {
	continued := &h.conversation.continued
	for _, id := range slices.Concat(continued.Parked, continued.Approved) { // the model has read of them, or does so in their records
		if _, _, refusal := h.parkedRequest(ctx, id); refusal != nil {
			return nil, refusal
		}
	}
	for _, id := range continued.Waiting {
		r, known, refusal := h.parkedRequest(ctx, id)
		if refusal != nil {
			return nil, refusal
		}
		if known && r.Status != approvals.StatusPending {
			texts = append(texts, notice.WaitedFor(r.ToolName, r.ToolCallID, id, parkedText(&r)))
		}
	}
	return texts, nil
}

// parkedUpTo sets the requests about the parked calls of this answer, and those about earlier parked
// calls that were pending or approved when the model read their notices. The model reads nothing in a
// request that only fetches an answer.
func (c *Conversation) parkedUpTo(kept *keptAnswer, settled intercept.Resolution) {
	for _, record := range settled.Hidden {
		kept.Parked = append(kept.Parked, notice.ParkedRequests(record)...)
	}
	continued := &c.continued
	if slices.Contains(c.Info().Refers, settled.Refers[0]) {
		kept.Parked = append(kept.Parked, continued.Parked...)
		kept.Waiting, kept.Approved = continued.Waiting, continued.Approved
		return
	}
	for i := range c.Hidden.parked {
		r := &c.Hidden.parked[i]
		switch {
		case !c.Hidden.ofConversation(r.ID):
		case r.Status == approvals.StatusPending && continued.hasParked(r.ID):
			kept.Waiting = append(kept.Waiting, r.ID)
		case r.Status == approvals.StatusApproved && time.Now().Before(r.ApprovalEnd()):
			kept.Approved = append(kept.Approved, r.ID)
		}
	}
}
