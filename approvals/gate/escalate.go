package gate

import (
	"context"
	"errors"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// errEscalated stops an escalation that has been done.
var errEscalated = errors.New("escalated already")

// escalate lets more groups decide a request for which a time has come. The first
// groups may still decide it, and what they have approved stands.
func (g *Gate) escalate(ctx context.Context, id string, due time.Time) error {
	_, err := g.move(ctx, id, func(r *approvals.Request) error {
		now := g.now().UTC()
		if !r.Escalate(now, due) {
			return errEscalated
		}
		return nil
	})
	if errors.Is(err, errEscalated) {
		return nil
	}
	return err
}
