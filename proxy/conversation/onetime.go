package conversation

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// onceID is the id of the record that an approval was consumed. There is one a key.
const onceID = "once"

func (id *Identity) onceKey(approval string) string { return id.Key("once", approval) }

// Consume consumes the one-time approvals that the request uses, on all replicas, before
// it is sent. If another request has consumed one, the request is made again without it,
// which remade reports.
func (h *HiddenTurns) Consume(ctx context.Context) (remade bool, refusal *intercept.Error) {
	c := h.conversation
	approvals := c.Parsed.OneTimeApprovals()
	if len(approvals) == 0 {
		return false, nil
	}
	records := slices.Clip(h.records)
	for _, approval := range approvals {
		key := c.Identity().onceKey(approval.ID)
		switch taken, err := c.shared.Store.TakeTurn(ctx, key, onceID, approval.Record); {
		case err != nil:
			c.shared.Metrics.StoreErrors.Inc()
			h.RestoreConsumed(ctx)
			return false, c.StoreError(err)
		case taken:
			h.consumed = append(h.consumed, key)
		default:
			records = append(records, approval.Record)
		}
	}
	if len(records) == len(h.records) {
		return false, nil
	}
	again, refusal := c.parse()
	if refusal != nil {
		return false, refusal
	}
	again.Splice(records)
	c.Parsed, c.offer, h.records = again, nil, records
	return true, nil
}

// KeepConsumed makes what was consumed final.
func (h *HiddenTurns) KeepConsumed() { h.consumed = nil }

// RestoreConsumed restores the approvals that this request has consumed, because upstream
// has not accepted it.
func (h *HiddenTurns) RestoreConsumed(ctx context.Context) {
	c := h.conversation
	for _, key := range h.consumed {
		if err := c.shared.Store.DropTurn(ctx, key, onceID); err != nil {
			c.shared.Metrics.StoreErrors.Inc()
			c.shared.Log.Warn("cannot restore an approval that was not used; the call needs a new one", "turn", c.Request.Turn, "error", err)
		}
	}
	h.consumed = nil
}
