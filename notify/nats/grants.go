package nats

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Grants is what this channel needs of [approvals.GrantBook].
type Grants interface {
	Grant(id string) (approvals.Grant, error)
	Grants(f approvals.GrantFilter) approvals.GrantPage
	Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error)
	Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error)
	Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error)
}

// listGrants answers {"tenant","user","agent","session_id","tool","expired",
// "cursor","limit"}, all optional, with {"items", "next_cursor"}.
func (s *Service) listGrants(_ context.Context, payload []byte) (any, error) {
	var query struct {
		Tenant    string `json:"tenant"`
		User      string `json:"user"`
		Agent     string `json:"agent"`
		SessionID string `json:"session_id"`
		Tool      string `json:"tool"`
		Expired   bool   `json:"expired"`
		Cursor    string `json:"cursor"`
		Limit     int    `json:"limit"`
	}
	if err := readQuery(payload, &query); err != nil {
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

// getGrant answers {"id"} with the grant.
func (s *Service) getGrant(_ context.Context, payload []byte) (any, error) {
	id, err := readID(payload)
	if err != nil {
		return nil, err
	}
	return s.grants.Grant(id)
}

// previewGrant answers a grant with the recorded calls that it would have
// decided.
func (s *Service) previewGrant(ctx context.Context, payload []byte) (any, error) {
	g, err := readGrant(payload)
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
func (s *Service) addGrant(ctx context.Context, reviewer string, payload []byte) (any, error) {
	g, err := readGrant(payload)
	if err != nil {
		return nil, err
	}
	g.GrantedBy, g.Channel = reviewer, channel
	return s.grants.Add(ctx, g)
}

// revokeGrant ends the grant {"id"}.
func (s *Service) revokeGrant(ctx context.Context, reviewer string, payload []byte) (any, error) {
	id, err := readID(payload)
	if err != nil {
		return nil, err
	}
	return s.grants.Revoke(ctx, id, reviewer, channel)
}

// readGrant reads a grant as reviewers write it.
func readGrant(payload []byte) (approvals.Grant, error) {
	var p struct {
		Effect    approvals.GrantEffect `json:"effect"`
		Scope     approvals.GrantScope  `json:"scope"`
		Principal approvals.Principal   `json:"principal"`
		SessionID string                `json:"session_id"`
		Patterns  []string              `json:"patterns"`
		Template  string                `json:"template"`
		Note      string                `json:"note"`
		ExpiresAt *time.Time            `json:"expires_at"`
	}
	if err := readQuery(payload, &p); err != nil {
		return approvals.Grant{}, err
	}
	return approvals.Grant{
		Effect: p.Effect, Scope: p.Scope, Principal: p.Principal, SessionID: p.SessionID, Patterns: p.Patterns,
		Template: p.Template, Note: p.Note, ExpiresAt: p.ExpiresAt,
	}, nil
}

// startGrants makes the endpoints that write grants. The reviewer is a token of
// their subject, as in decisions.
func (s *Service) startGrants(service micro.Service) error {
	for name, write := range map[string]func(context.Context, string, []byte) (any, error){
		"add": s.addGrant, "revoke": s.revokeGrant,
	} {
		handle := func(ctx context.Context, req micro.Request) (any, error) {
			reviewer, _, err := s.target(req.Subject(), reviewers.RoleAdmin)
			if err != nil {
				return nil, err
			}
			return write(ctx, reviewer.Name, req.Data())
		}
		if err := service.AddEndpoint("grants-"+name, s.endpoint(handle), micro.WithEndpointSubject("heldcall.v1.grants.*."+name)); err != nil {
			return fmt.Errorf("start the endpoint grants.%s: %w", name, err)
		}
	}
	return nil
}
