package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/heldcall/heldcall/approvals"
)

// Secrets lists, stores and deletes secrets of agents.
type Secrets struct{ client *Client }

// Secrets returns the secrets of the console.
func (c *Client) Secrets() Secrets { return Secrets{c} }

// List lists the stored secrets, without their values.
func (s Secrets) List(ctx context.Context) ([]approvals.Secret, error) {
	list, err := call[listOf[approvals.Secret]](ctx, s.client, http.MethodGet, "/api/v1/secrets", nil)
	return list.Items, err
}

// Set stores a secret, or replaces its value. It fails with
// [*approvals.InvalidError].
func (s Secrets) Set(ctx context.Context, p approvals.SecretPayload) (approvals.Secret, error) {
	return call[approvals.Secret](ctx, s.client, http.MethodPost, "/api/v1/secrets", p)
}

// Delete deletes the secret with the name, principal and session of one. It fails
// with [approvals.ErrUnknownSecret].
func (s Secrets) Delete(ctx context.Context, one approvals.Secret) (approvals.Secret, error) {
	fields := url.Values{}
	for name, value := range map[string]string{
		"name": one.Name, "tenant": one.Principal.Tenant, "user": one.Principal.User, "agent": one.Principal.Agent, "session_id": one.SessionID,
	} {
		if value != "" {
			fields.Set(name, value)
		}
	}
	deleted, err := call[approvals.Secret](ctx, s.client, http.MethodDelete, "/api/v1/secrets?"+fields.Encode(), nil)
	return deleted, notFound(err, approvals.ErrUnknownSecret)
}
