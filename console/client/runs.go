package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/heldcall/heldcall/approvals"
)

// Runs lists the runs that have not ended and the last ones that have, the most recently
// active first.
func (c *Client) Runs(ctx context.Context) ([]approvals.Run, error) {
	list, err := call[listOf[approvals.Run]](ctx, c, http.MethodGet, "/api/v1/runs", nil)
	return list.Items, err
}

// Run reads one run. It fails with [approvals.ErrUnknownRun].
func (c *Client) Run(ctx context.Context, id string) (approvals.Run, error) {
	run, err := call[approvals.Run](ctx, c, http.MethodGet, "/api/v1/runs/"+url.PathEscape(id), nil)
	return run, notFound(err, approvals.ErrUnknownRun)
}

// Signal pauses, resumes or stops the run s.RunID and returns it afterwards. It fails
// with [*approvals.InvalidError].
func (c *Client) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	payload := map[string]any{"action": s.Action}
	if s.Payload != nil {
		payload["payload"] = s.Payload
	}
	return call[approvals.Steered](ctx, c, http.MethodPost, "/api/v1/runs/"+url.PathEscape(s.RunID)+"/signal", payload)
}

// Signals lists the signals by principal that are in force, the latest first.
func (c *Client) Signals(ctx context.Context) ([]approvals.PrincipalSignal, error) {
	list, err := call[listOf[approvals.PrincipalSignal]](ctx, c, http.MethodGet, "/api/v1/signals", nil)
	return list.Items, err
}

// SignalPrincipal pauses, resumes or stops all runs of a principal. It fails with
// [*approvals.InvalidError].
func (c *Client) SignalPrincipal(ctx context.Context, s approvals.PrincipalSignalPayload) (approvals.PrincipalSignal, error) {
	return call[approvals.PrincipalSignal](ctx, c, http.MethodPost, "/api/v1/signals", s)
}
