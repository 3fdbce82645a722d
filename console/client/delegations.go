package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Delegations are those in force, the latest first.
func (c *Client) Delegations(ctx context.Context) ([]approvals.Delegation, error) {
	var list struct {
		Items []approvals.Delegation `json:"items"`
	}
	err := c.exchange(ctx, http.MethodGet, "/api/v1/delegations", nil, &list)
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
	var made approvals.Delegation
	err := c.exchange(ctx, http.MethodPost, "/api/v1/delegations", payload, &made)
	return made, err
}

// RevokeDelegation ends a delegation before its time. It fails with
// [approvals.ErrUnknownDelegation].
func (c *Client) RevokeDelegation(ctx context.Context, id string) (approvals.Delegation, error) {
	var d approvals.Delegation
	err := c.exchange(ctx, http.MethodDelete, "/api/v1/delegations/"+url.PathEscape(id), nil, &d)
	if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.CodeNotFound {
		err = approvals.ErrUnknownDelegation
	}
	return d, err
}
