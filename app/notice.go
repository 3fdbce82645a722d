package app

import (
	"context"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// noticed is the store of the gate. It reports the events that the gate has written to the
// audit log: to notice or, if that is nil, to the log.
type noticed struct {
	approvals.Store
	notice func(approvals.Event, *approvals.Request)
	log    *slog.Logger
}

// AppendEvents adds to the audit log, then notifies.
func (s noticed) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	err := s.Store.AppendEvents(ctx, events...)
	if err == nil {
		for _, e := range events {
			s.report(ctx, e)
		}
	}
	return err
}

// report reports an event. A new request is read again: its event has not all that people are shown.
func (s noticed) report(ctx context.Context, e approvals.Event) {
	if s.notice == nil {
		LogEvent(s.log, e)
		return
	}
	var request *approvals.Request
	if e.Type == approvals.EventApprovalRequired {
		if stored, err := s.GetRequest(ctx, e.RequestID); err == nil {
			request = &stored.Request
		}
	}
	s.notice(e, request)
}

// notices are the events about calls that the log has, and how it names them.
var notices = map[approvals.EventType]string{
	approvals.EventApprovalRequired:  "call held",
	approvals.EventApprovalDecision:  "call decided",
	approvals.EventApprovalExpired:   "call expired",
	approvals.EventApprovalCancelled: "request cancelled",
	approvals.EventCallReleased:      "call released",
	approvals.EventCallNotReleased:   "approved call not released",
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
		{"rule", e.Rule}, {"risk", string(e.RiskLevel)}, {"request", e.RequestID}, {"turn", e.TurnID}, {"run", e.RunID}, {"action", string(e.Action)}, {"reviewer", e.ReviewerID}, {"outcome", e.Outcome},
	} {
		if a.value != "" {
			attributes = append(attributes, slog.String(a.key, a.value))
		}
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, message, attributes...)
}

// absolute is the absolute path, which readers of a log need: they do not know the
// working directory.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// redactURLs is redactURL for several, separated by commas.
func redactURLs(list string) string {
	urls := strings.Split(list, ",")
	for i, url := range urls {
		urls[i] = redactURL(strings.TrimSpace(url))
	}
	return strings.Join(urls, ",")
}

// redactURL removes user, password and query of a URL, which may be secret.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "invalid URL"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
