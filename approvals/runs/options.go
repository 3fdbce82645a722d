package runs

import (
	"context"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Options configures [Runs]. All fields are required.
type Options struct {
	Store    approvals.Records[approvals.Run]
	Signals  approvals.Records[approvals.PrincipalSignal]
	Requests interface {
		ListRequests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
	}
	// Record appends the event of a durable change to the audit log, even if the context has ended. After an error it
	// is appended later.
	Record func(context.Context, approvals.Event) error
	// Ensure appends an event unless it is in the audit log.
	Ensure func(context.Context, approvals.Event) error
	// Cancel cancels a pending request. It fails with an [*approvals.DecidedError] if that has ended.
	Cancel func(ctx context.Context, request, reason string) error
	// Schedule calls work about a run, "" for several, at a time, and again if it fails.
	Schedule func(at time.Time, run string, work func(context.Context) error)
	// MaskWritten replaces secrets by their handles in what a person has written. Each field is a pointer to a value of JSON.
	MaskWritten func(ctx context.Context, fields ...any) error
	Idle        time.Duration // the silence of an agent after which its run ends
	Now         func() time.Time
	Log         *slog.Logger
}
