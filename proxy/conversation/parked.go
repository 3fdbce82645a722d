package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// Requests reads requests to people. [gate.Gate] implements it.
type Requests interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
}

// Parked returns the requests about the parked calls of the conversation, as they were when this
// request arrived: their approvals pass in it. A conversation has a parked call if the agent names
// the session in a header, if the request continues from the parked turn by the provider's id, or if
// its history surely contains that turn. Names in a body and opening words are no evidence: several
// users of an agent may share them.
func (h *HiddenTurns) Parked() (requests []approvals.Request) {
	for i := range h.parked {
		if h.ofConversation(h.parked[i].ID) {
			requests = append(requests, h.parked[i])
		}
	}
	return requests
}

func (h *HiddenTurns) ofConversation(request string) bool {
	c := h.conversation
	if c.Request.Session != "" || c.continued.hasParked(request) {
		return true
	}
	return slices.ContainsFunc(c.Parsed.Placements(), func(p intercept.Placement) bool {
		return p.Sure && slices.Contains(h.parkedIn[p.Turn], request) && (p.Unique || bytes.Contains(c.Request.Envelope.Body, []byte(request)))
	})
}

// noteParked notes the requests about the parked calls of each turn, before their records are filled.
func (h *HiddenTurns) noteParked(records [][]byte) {
	for _, record := range records {
		ids := notice.ParkedRequests(record)
		var of intercept.TurnFingerprint
		if len(ids) == 0 || json.Unmarshal(record, &of) != nil {
			continue
		}
		if h.parkedIn == nil {
			h.parkedIn = make(map[string][]string)
		}
		h.parkedIn[of.Turn] = append(h.parkedIn[of.Turn], ids...)
	}
}

// Joins reports whether the turn may wait for a request that another turn has asked: about a parked
// call of the session, or about a call of a stored answer.
func (h *HiddenTurns) Joins(request string) bool {
	return slices.Contains(h.shared, request) || slices.ContainsFunc(h.parked, func(r approvals.Request) bool { return r.ID == request })
}

// fillParked puts the state of the requests about parked calls into their records.
func (h *HiddenTurns) fillParked(ctx context.Context, records [][]byte) *intercept.Error {
	for i := range records {
		for _, id := range notice.ParkedRequests(records[i]) {
			r, known, refusal := h.parkedRequest(ctx, id)
			if refusal != nil {
				return refusal
			}
			if known {
				records[i] = notice.FillParked(records[i], id, parkedText(&r))
			}
		}
	}
	return nil
}

// parkedRequest reads a request about a parked call of the session. A record contains text
// of the model, so an id may be one of another session: such a request is not known.
func (h *HiddenTurns) parkedRequest(ctx context.Context, id string) (r approvals.Request, known bool, refusal *intercept.Error) {
	c := h.conversation
	if i := slices.IndexFunc(h.parked, func(r approvals.Request) bool { return r.ID == id }); i >= 0 {
		return h.parked[i], true, nil
	}
	r, err := c.shared.Requests.Request(ctx, id)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest):
		r = approvals.Request{ID: id, Status: approvals.StatusCancelled, ToolName: "a tool"} // older than all that are stored
	case err != nil:
		c.shared.Metrics.StoreErrors.Inc()
		return r, false, c.StoreError(err)
	case r.Principal != c.sessionIdentity().Principal || r.SessionID != c.sessionIdentity().Session:
		return r, false, nil
	}
	h.parked = append(h.parked, r)
	return r, true, nil
}

// parkedText is the text for the model about a parked call.
func parkedText(r *approvals.Request) string {
	d, _ := r.FinalDecision()
	if r.Asks() || r.Status == approvals.StatusAnswered {
		text, _ := questions.Message(r)
		return text
	}
	switch r.Status {
	case approvals.StatusPending:
		return notice.WaitsForApproval(r.ToolName, r.ID)
	case approvals.StatusApproved:
		return notice.ApprovedLater(r.ToolName, r.ID, string(d.ModifiedArgs), d.Note, r.ApprovalEnd().Format(time.RFC3339))
	case approvals.StatusDenied:
		if d.ReviewerID == approvals.ReviewerPolicy {
			return notice.DeniedByRule(r.ToolName, d.Note)
		}
		return notice.DeniedByPerson(r.ToolName, d.Note)
	case approvals.StatusExpired:
		return notice.NobodyAnswered(r.ToolName)
	}
	return notice.CancelledLater(r.ToolName)
}

// TakeApproval consumes the approval of a parked call, for the first caller on all
// replicas.
func (h *HiddenTurns) TakeApproval(ctx context.Context, request string) (taken bool, refusal *intercept.Error) {
	c := h.conversation
	taken, err := c.shared.Store.TakeTurn(ctx, c.Identity().Key("approval of a parked call", request), onceID, []byte("{}"))
	if err != nil {
		c.shared.Metrics.StoreErrors.Inc()
		return false, c.StoreError(err)
	}
	return taken, nil
}
