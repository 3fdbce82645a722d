package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/heldcall/heldcall/approvals"
)

// Runs reads runs and sends signals to them.
type Runs struct{ client *Client }

// Runs returns the runs of the console.
func (c *Client) Runs() Runs { return Runs{c} }

// List lists the runs that have not ended and the last ones that have, the most recently
// active first.
func (r Runs) List(ctx context.Context) ([]approvals.Run, error) {
	list, err := call[listOf[approvals.Run]](ctx, r.client, http.MethodGet, "/api/v1/runs", nil)
	return list.Items, err
}

// Get reads one run. It fails with [approvals.ErrUnknownRun].
func (r Runs) Get(ctx context.Context, id string) (approvals.Run, error) {
	run, err := call[approvals.Run](ctx, r.client, http.MethodGet, "/api/v1/runs/"+url.PathEscape(id), nil)
	return run, notFound(err, approvals.ErrUnknownRun)
}

// Signal pauses, resumes or stops the run s.RunID and returns it afterwards. It fails
// with [*approvals.InvalidError].
func (r Runs) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	payload := map[string]any{"action": s.Action}
	if s.Payload != nil {
		payload["payload"] = s.Payload
	}
	return call[approvals.Steered](ctx, r.client, http.MethodPost, "/api/v1/runs/"+url.PathEscape(s.RunID)+"/signal", payload)
}

// AddFolder makes a folder a part of the workspace of a run, and returns the grant. It fails with
// [approvals.ErrUnknownRun] or [*approvals.InvalidError].
func (r Runs) AddFolder(ctx context.Context, id, folder string) (approvals.Grant, error) {
	g, err := call[approvals.Grant](ctx, r.client, http.MethodPost, "/api/v1/runs/"+url.PathEscape(id)+"/workspace", approvals.RunFolder{Folder: folder})
	return g, notFound(err, approvals.ErrUnknownRun)
}

// Signals lists the signals by principal that are in force, the latest first.
func (r Runs) Signals(ctx context.Context) ([]approvals.PrincipalSignal, error) {
	list, err := call[listOf[approvals.PrincipalSignal]](ctx, r.client, http.MethodGet, "/api/v1/signals", nil)
	return list.Items, err
}

// SignalPrincipal pauses, resumes or stops all runs of a principal. It fails with
// [*approvals.InvalidError].
func (r Runs) SignalPrincipal(ctx context.Context, s approvals.PrincipalSignalPayload) (approvals.PrincipalSignal, error) {
	return call[approvals.PrincipalSignal](ctx, r.client, http.MethodPost, "/api/v1/signals", s)
}
