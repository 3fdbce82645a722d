package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/heldcall/heldcall/approvals"
)

// Grants lists grants, newest first, one page a call.
func (c *Client) Grants(ctx context.Context, f approvals.GrantFilter) (approvals.GrantPage, error) {
	fields := map[string]string{
		"tenant": f.Tenant, "user": f.User, "agent": f.Agent, "session_id": f.SessionID, "tool": f.Tool, "cursor": f.Cursor,
	}
	if f.Expired {
		fields["expired"] = "true"
	}
	return call[approvals.GrantPage](ctx, c, http.MethodGet, "/api/v1/grants?"+queryOf(f.Limit, fields), nil)
}

// Grant reads one grant. It fails with [approvals.ErrUnknownGrant].
func (c *Client) Grant(ctx context.Context, id string) (approvals.Grant, error) {
	g, err := call[approvals.Grant](ctx, c, http.MethodGet, "/api/v1/grants/"+url.PathEscape(id), nil)
	return g, notFound(err, approvals.ErrUnknownGrant)
}

// AddGrant grants by hand. It fails with [*approvals.InvalidError]. Who grants,
// over which channel and when is set by the console.
func (c *Client) AddGrant(ctx context.Context, g approvals.Grant) (approvals.Grant, error) {
	return call[approvals.Grant](ctx, c, http.MethodPost, "/api/v1/grants", grantBody(g))
}

// PreviewGrant returns which calls recorded lately a grant would have decided.
func (c *Client) PreviewGrant(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error) {
	return call[approvals.GrantPreview](ctx, c, http.MethodPost, "/api/v1/grants/preview", grantBody(g))
}

// Suggestions returns the suggested patterns of a request, with what each allows and how many of the
// latest requests of its principal it would have covered.
func (c *Client) Suggestions(ctx context.Context, id string) ([]approvals.Suggestion, error) {
	list, err := call[listOf[approvals.Suggestion]](ctx, c, http.MethodGet, "/api/v1/requests/"+url.PathEscape(id)+"/suggestions", nil)
	return list.Items, notFound(err, approvals.ErrUnknownRequest)
}

// RevokeGrant ends a grant and returns it as it was. It fails with
// [approvals.ErrUnknownGrant].
func (c *Client) RevokeGrant(ctx context.Context, id string) (approvals.Grant, error) {
	g, err := call[approvals.Grant](ctx, c, http.MethodDelete, "/api/v1/grants/"+url.PathEscape(id), nil)
	return g, notFound(err, approvals.ErrUnknownGrant)
}

// GrantTemplates lists the grants that the configuration keeps ready.
func (c *Client) GrantTemplates(ctx context.Context) ([]approvals.GrantTemplate, error) {
	list, err := call[listOf[approvals.GrantTemplate]](ctx, c, http.MethodGet, "/api/v1/grant-templates", nil)
	return list.Items, err
}

func grantBody(g approvals.Grant) approvals.GrantPayload {
	return approvals.GrantPayload{
		Effect: g.Effect, Scope: g.Scope, Principal: g.Principal, SessionID: g.SessionID,
		Patterns: g.Patterns, Template: g.Template, Note: g.Note, ExpiresAt: g.ExpiresAt,
	}
}
