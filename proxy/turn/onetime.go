package turn

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// onceID is the id of the record that an approval was consumed. There is one a key.
const onceID = "once"

func (id *Identity) onceKey(approval string) string { return id.key("once", approval) }

// consume consumes the one-time approvals that the request uses, on all replicas, before
// it is sent. If another request has consumed one, the request is made again without it,
// which remade reports.
func (h *hiddenTurns) consume(ctx context.Context) (remade bool, refusal *intercept.Error) {
	c := h.conversation
	approvals := c.parsed.OneTimeApprovals()
	if len(approvals) == 0 {
		return false, nil
	}
	known := slices.Clip(h.records)
	for _, approval := range approvals {
		key := c.identity().onceKey(approval.ID)
		switch taken, err := c.engine.Store.TakeTurn(ctx, key, onceID, approval.Record); {
		case err != nil:
			c.engine.metrics.storeError("turns")
			h.restoreConsumed(ctx)
			return false, c.storeError(err)
		case taken:
			h.consumed = append(h.consumed, key)
		default:
			known = append(known, approval.Record)
		}
	}
	if len(known) == len(h.records) {
		return false, nil
	}
	again, refusal := c.parse(c.request.Envelope)
	if refusal != nil {
		return false, refusal
	}
	again.Splice(known)
	c.parsed, h.records = again, known
	return true, nil
}

// keepConsumed makes what was consumed final.
func (h *hiddenTurns) keepConsumed() { h.consumed = nil }

// restoreConsumed restores the approvals that this request has consumed, because upstream
// has not accepted it.
func (h *hiddenTurns) restoreConsumed(ctx context.Context) {
	c := h.conversation
	for _, key := range h.consumed {
		if err := c.engine.Store.DropTurn(ctx, key, onceID); err != nil {
			c.engine.metrics.storeError("turns")
			c.engine.log.Warn("cannot restore an approval that was not used; the call needs a new one", "turn", c.request.Turn, "error", err)
		}
	}
	h.consumed = nil
}
