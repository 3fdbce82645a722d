package nats

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// Grants is what this channel needs of [grants.Grants].
type Grants interface {
	Grant(id string) (approvals.Grant, error)
	Grants(f approvals.GrantFilter) approvals.GrantPage
	Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error)
	Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error)
	Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error)
}

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

// listGrants answers with a page of grants.
func (s *Service) listGrants(_ context.Context, m message) (any, error) {
	var query grantQuery
	if err := readQuery(m.payload, &query); err != nil {
		return nil, err
	}
	page := s.grants.Grants(approvals.GrantFilter(query))
	for { // a page that is too large for one reply becomes two
		text, err := encode(page)
		if err != nil || len(text) <= int(s.conn.MaxPayload()) || len(page.Items) < 2 {
			return page, err
		}
		page.Truncate(len(page.Items) / 2)
	}
}

// getGrant answers with a grant.
func (s *Service) getGrant(_ context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return s.grants.Grant(id)
}

// previewGrant answers a grant with the recorded calls that it would have
// decided.
func (s *Service) previewGrant(ctx context.Context, m message) (any, error) {
	g, err := readGrant(m)
	if err != nil {
		return nil, err
	}
	preview, err := s.grants.Preview(ctx, g)
	if err != nil {
		return nil, err
	}
	for { // as many calls as one reply holds
		text, err := encode(preview)
		if err != nil || len(text) <= int(s.conn.MaxPayload()) || len(preview.Items) == 0 {
			return preview, err
		}
		preview.Items = preview.Items[:len(preview.Items)/2]
	}
}

// addGrant writes the grant in the payload, of the reviewer in the subject.
func (s *Service) addGrant(ctx context.Context, m message) (any, error) {
	g, err := readGrant(m)
	if err != nil {
		return nil, err
	}
	return s.grants.Add(ctx, g)
}

// revokeGrant ends a grant.
func (s *Service) revokeGrant(ctx context.Context, m message) (any, error) {
	id, err := readID(m.payload)
	if err != nil {
		return nil, err
	}
	return s.grants.Revoke(ctx, id, m.reviewer.Name, channel)
}

// readGrant reads a grant as the reviewer who sends it writes it.
func readGrant(m message) (approvals.Grant, error) {
	var p approvals.GrantPayload
	if err := readQuery(m.payload, &p); err != nil {
		return approvals.Grant{}, err
	}
	return p.By(m.reviewer.Name, m.reviewer.User, channel), nil
}
