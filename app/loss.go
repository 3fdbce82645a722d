package app

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// recordLoss adds the accepted loss of the store to the audit log.
func (p *parts) recordLoss(ctx context.Context) error {
	loss := p.store.Loss()
	if loss == "" {
		return nil
	}
	now := time.Now().UTC()
	event := approvals.Event{ID: approvals.DerivedID(now, "loss_accepted"), Type: approvals.EventLossAccepted, Time: now, Note: loss}
	if err := p.store.Events.AppendEvents(ctx, event); err != nil {
		return fmt.Errorf("record the accepted loss: %w", err)
	}
	return nil
}
