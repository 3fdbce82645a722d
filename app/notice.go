package app

import (
	"context"
	"log/slog"

	"github.com/heldcall/heldcall/approvals"
)

// noticed is the store of the gate. It calls notice with the events that the gate has
// written to the audit log.
type noticed struct {
	approvals.Store
	notice func(approvals.Event)
}

// AppendEvents adds to the audit log, then notifies.
func (s noticed) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	err := s.Store.AppendEvents(ctx, events...)
	if err == nil {
		for _, e := range events {
			s.notice(e)
		}
	}
	return err
}

// notices are the events about calls that the log has, and how it names them.
var notices = map[approvals.EventType]string{
	approvals.EventApprovalRequired:  "call held",
	approvals.EventApprovalDecision:  "call decided",
	approvals.EventApprovalExpired:   "call expired",
	approvals.EventApprovalCancelled: "request cancelled",
	approvals.EventCallReleased:      "call released",
}

// LogEvent logs what an event reports about a call, with ids and without arguments.
// Other events are not logged.
func LogEvent(log *slog.Logger, e approvals.Event) {
	message, logged := notices[e.Type]
	if !logged {
		return
	}
	attributes := []slog.Attr{slog.String("tool", e.ToolName)}
	for _, a := range []struct{ key, value string }{
		{"request", e.RequestID}, {"turn", e.TurnID}, {"run", e.RunID}, {"action", string(e.Action)}, {"reviewer", e.ReviewerID}, {"outcome", e.Outcome},
	} {
		if a.value != "" {
			attributes = append(attributes, slog.String(a.key, a.value))
		}
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, message, attributes...)
}
