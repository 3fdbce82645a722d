package nats

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// grantQuery is an [approvals.GrantFilter] as clients write it; all of it is
// optional.
type grantQuery struct {
	Tenant    string `json:"tenant"`
	User      string `json:"user"`
	Agent     string `json:"agent"`
	SessionID string `json:"session_id"`
	Tool      string `json:"tool"`
	Expired   bool   `json:"expired"`
	Cursor    string `json:"cursor"`
	Limit     int    `json:"limit"`
}

func (h *handlers) listGrants(_ context.Context, m message) (any, error) {
	var query grantQuery
	if err := readQuery(m.payload, &query); err != nil {
		return nil, err
	}
	page := h.grants.Grants(approvals.GrantFilter{
		Tenant: query.Tenant, User: query.User, Agent: query.Agent, SessionID: query.SessionID, Tool: query.Tool,
		Expired: query.Expired, Cursor: query.Cursor, Limit: query.Limit,
	})
	return h.fit(&page, func() bool { return halve(page.Items, page.Truncate) })
}

func (h *handlers) previewGrant(ctx context.Context, m message) (any, error) {
	g, err := readGrant(m)
	if err != nil {
		return nil, err
	}
	preview, err := h.grants.Preview(ctx, g)
	if err != nil {
		return nil, err
	}
	return h.fit(&preview, func() bool {
		n := len(preview.Items)
		preview.Items = preview.Items[:n/2]
		return n > 0
	})
}

func (h *handlers) addGrant(ctx context.Context, m message) (any, error) {
	g, err := readGrant(m)
	if err != nil {
		return nil, err
	}
	if err := m.mayChangeOf(g.Principal.Tenant); err != nil {
		return nil, err
	}
	return h.grants.Add(ctx, g)
}

func (h *handlers) revokeGrant(ctx context.Context, m message, id string) (approvals.Grant, error) {
	if m.reviewer.Tenants.Limited() {
		g, err := h.grants.Grant(id)
		if err == nil && !m.reviewer.Tenants.Has(g.Principal.Tenant) {
			err = approvals.ErrUnknownGrant
		}
		if err != nil {
			return approvals.Grant{}, err
		}
	}
	return h.grants.Revoke(ctx, id, m.reviewer.Name, channelName)
}

func readGrant(m message) (approvals.Grant, error) {
	var p approvals.GrantPayload
	if err := readQuery(m.payload, &p); err != nil {
		return approvals.Grant{}, err
	}
	return p.By(m.reviewer.Name, m.reviewer.User, channelName), nil
}
