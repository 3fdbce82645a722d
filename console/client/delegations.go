package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

type listOf[T any] struct {
	Items []T `json:"items"`
}

// Delegations are those in force, the latest first.
func (c *Client) Delegations(ctx context.Context) ([]approvals.Delegation, error) {
	list, err := call[listOf[approvals.Delegation]](ctx, c, http.MethodGet, "/api/v1/delegations", nil)
	return list.Items, err
}

// Delegate lets the reviewer d.To decide in the place of d.From until d.Until.
// Without From it is in the place of the client's own reviewer. It fails with
// [*approvals.InvalidError].
func (c *Client) Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	payload := map[string]any{"to": d.To, "until": d.Until.UTC().Format(time.RFC3339)}
	if d.From != "" {
		payload["from"] = d.From
	}
	if d.Note != "" {
		payload["note"] = d.Note
	}
	return call[approvals.Delegation](ctx, c, http.MethodPost, "/api/v1/delegations", payload)
}

// RevokeDelegation ends a delegation before its time. It fails with
// [approvals.ErrUnknownDelegation].
func (c *Client) RevokeDelegation(ctx context.Context, id string) (approvals.Delegation, error) {
	d, err := call[approvals.Delegation](ctx, c, http.MethodDelete, "/api/v1/delegations/"+url.PathEscape(id), nil)
	return d, notFound(err, approvals.ErrUnknownDelegation)
}
