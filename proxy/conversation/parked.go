package conversation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
)

// ParkedApprovalTTL is for how long after the decision a parked call that was approved may
// be made again without asking, once.
const ParkedApprovalTTL = 24 * time.Hour

// Requests reads requests to people. [gate.Gate] implements it.
type Requests interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
}

// Parked returns the requests about the parked calls of the session, as they were when
// this request arrived.
func (h *HiddenTurns) Parked() []approvals.Request { return h.parked }

// HasParked reports whether a request is one of [HiddenTurns.Parked].
func (h *HiddenTurns) HasParked(request string) bool {
	return slices.ContainsFunc(h.parked, func(r approvals.Request) bool { return r.ID == request })
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

// decidedLater returns the texts about parked calls that were decided after the model had
// read their notices, in an answer that the request continues by the provider's id. The
// provider keeps the notices, so they cannot be changed there.
func (h *HiddenTurns) decidedLater(ctx context.Context) (texts []string, refusal *intercept.Error) {
	for _, id := range h.conversation.continues.Waiting {
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

// parkedUpTo returns the requests about the parked calls of this answer, and those about
// earlier parked calls that were pending when the model read their notices. The model reads
// nothing in a request that only fetches an answer.
func (h *HiddenTurns) parkedUpTo(settled intercept.Resolution) (parked, waiting []string) {
	c := h.conversation
	for _, record := range settled.Hidden {
		parked = append(parked, notice.ParkedRequests(record)...)
	}
	continued := c.continues
	if len(settled.Refers) > 0 && slices.Contains(c.Info().Refers, settled.Refers[0]) {
		return append(parked, continued.Parked...), continued.Waiting
	}
	for _, id := range slices.Concat(continued.Parked, continued.Waiting) {
		if slices.ContainsFunc(h.parked, func(r approvals.Request) bool { return r.ID == id && r.Status == approvals.StatusPending }) {
			waiting = append(waiting, id)
		}
	}
	return parked, waiting
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
		return notice.ApprovedLater(r.ToolName, r.ID, string(d.ModifiedArgs), d.Note, ApprovalEnd(r).Format(time.RFC3339))
	case approvals.StatusDenied:
		return notice.DeniedByPerson(r.ToolName, d.Note)
	case approvals.StatusExpired:
		return notice.NobodyAnswered(r.ToolName)
	}
	return notice.CancelledLater(r.ToolName)
}

// ApprovalEnd returns when the approval of a parked call ends.
func ApprovalEnd(r *approvals.Request) time.Time {
	d, _ := r.FinalDecision()
	return d.DecidedAt.UTC().Truncate(time.Second).Add(ParkedApprovalTTL)
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
