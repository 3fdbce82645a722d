package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Grants lists grants, newest first, one page a call.
func (c *Client) Grants(ctx context.Context, f approvals.GrantFilter) (approvals.GrantPage, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"tenant": f.Tenant, "user": f.User, "agent": f.Agent, "session_id": f.SessionID, "tool": f.Tool, "cursor": f.Cursor,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Expired {
		query.Set("expired", "true")
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var page approvals.GrantPage
	err := c.exchange(ctx, http.MethodGet, "/api/v1/grants?"+query.Encode(), nil, &page)
	return page, err
}

// Grant reads one grant. It fails with [approvals.ErrUnknownGrant].
func (c *Client) Grant(ctx context.Context, id string) (approvals.Grant, error) {
	var g approvals.Grant
	err := c.exchange(ctx, http.MethodGet, "/api/v1/grants/"+url.PathEscape(id), nil, &g)
	return g, noGrant(err)
}

// AddGrant grants by hand. It fails with [*approvals.InvalidError]. Who grants,
// over which channel and when is set by the console.
func (c *Client) AddGrant(ctx context.Context, g approvals.Grant) (approvals.Grant, error) {
	var added approvals.Grant
	err := c.exchange(ctx, http.MethodPost, "/api/v1/grants", grantBody(g), &added)
	return added, err
}

// PreviewGrant returns which calls recorded lately a grant would have decided.
func (c *Client) PreviewGrant(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error) {
	var preview approvals.GrantPreview
	err := c.exchange(ctx, http.MethodPost, "/api/v1/grants/preview", grantBody(g), &preview)
	return preview, err
}

// RevokeGrant ends a grant and returns it as it was. It fails with
// [approvals.ErrUnknownGrant].
func (c *Client) RevokeGrant(ctx context.Context, id string) (approvals.Grant, error) {
	var g approvals.Grant
	err := c.exchange(ctx, http.MethodDelete, "/api/v1/grants/"+url.PathEscape(id), nil, &g)
	return g, noGrant(err)
}

// GrantTemplates lists the grants that the configuration keeps ready.
func (c *Client) GrantTemplates(ctx context.Context) ([]approvals.GrantTemplate, error) {
	var list struct {
		Items []approvals.GrantTemplate `json:"items"`
	}
	err := c.exchange(ctx, http.MethodGet, "/api/v1/grant-templates", nil, &list)
	return list.Items, err
}

// grantBody is what the console takes of a grant.
func grantBody(g approvals.Grant) map[string]any {
	body := map[string]any{"principal": g.Principal}
	for name, value := range map[string]string{
		"effect": string(g.Effect), "scope": string(g.Scope), "session_id": g.SessionID, "template": g.Template, "note": g.Note,
	} {
		if value != "" {
			body[name] = value
		}
	}
	if len(g.Patterns) > 0 {
		body["patterns"] = g.Patterns
	}
	if g.ExpiresAt != nil {
		body["expires_at"] = g.ExpiresAt
	}
	return body
}

// noGrant is the error of a 404 of a grant.
func noGrant(err error) error {
	if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.CodeNotFound {
		return approvals.ErrUnknownGrant
	}
	return err
}
