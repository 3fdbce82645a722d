// Package oidc signs people in by an OpenID Connect provider: the authorization
// code flow with PKCE, of which only the person's name and groups are kept.
//
// The console's own page begins a sign-in and ends it. In between, the browser is
// at the provider, which sends it back to one fixed address with a code. A code is
// taken together with the secret that the page was given at the beginning and kept
// for its origin: a code in another browser is refused.
//
// The discovery document of the provider is read when the first person signs in, and again
// until it was read, so that heldcall runs while the provider does not.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	config    Config
	client    client
	flows     *flows
	discovery *discovery
}

// New makes a provider of a configuration that was checked. Nothing is asked yet.
func New(c Config) *Provider {
	if !slices.Contains(c.Scopes, oidc.ScopeOpenID) {
		c.Scopes = append([]string{oidc.ScopeOpenID}, c.Scopes...)
	}
	client := newClient()
	return &Provider{
		config: c, client: client, flows: newFlows(),
		discovery: &discovery{config: c, client: client, asking: make(chan struct{}, 1)},
	}
}

// Check reads the discovery document of the provider, as a sign-in does. It fails with
// [ErrUnavailable].
func (p *Provider) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	_, err := p.discovery.get(ctx)
	return err
}

// Begun is a sign-in that has begun.
type Begun struct {
	URL    string `json:"url"`    // of the provider, where the browser goes
	Secret string `json:"secret"` // that the page keeps for its origin, and returns with the code
}

// Begin begins a sign-in. It fails with [ErrUnavailable].
func (p *Provider) Begin(ctx context.Context) (Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	d, err := p.discovery.get(ctx)
	if err != nil {
		return Begun{}, err
	}
	begun, state, secret := p.flows.begin(time.Now())
	to := d.oauth.AuthCodeURL(state, oidc.Nonce(begun.nonce), oauth2.S256ChallengeOption(begun.verifier))
	return Begun{URL: to, Secret: secret}, nil
}

// Returned is the data that a browser brings back from the provider, and the secret of the
// sign-in that it began.
type Returned struct {
	Code   string `json:"code"`
	State  string `json:"state"`
	Secret string `json:"secret"`
}

// Finish ends a sign-in and returns the person with their rights. A sign-in can be ended
// once, also if that fails. It fails with [ErrUnknown],
// [ErrRejected], [*RefusedError] or [ErrUnavailable].
func (p *Provider) Finish(ctx context.Context, r Returned) (reviewers.Reviewer, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	begun, known := p.flows.end(r.State, r.Secret, time.Now())
	if !known {
		return reviewers.Reviewer{}, ErrUnknown
	}
	d, err := p.discovery.get(ctx)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	token, err := d.oauth.Exchange(p.client.with(ctx), r.Code, oauth2.VerifierOption(begun.verifier))
	if err != nil {
		return reviewers.Reviewer{}, exchangeError(err)
	}
	identity, err := p.verify(ctx, d, token, begun.nonce)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	claims, err := p.config.claims(p.client.with(ctx), d, token, identity)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	return p.config.reviewer(claims)
}

// verify checks the ID token of an answer: that the provider signed it, for us,
// for this sign-in, and that it holds.
func (p *Provider) verify(ctx context.Context, d *discovered, token *oauth2.Token, nonce string) (*oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, fmt.Errorf("%w: it has no ID token; is openid among the scopes?", ErrRejected)
	}
	// The verifier reads the keys too, and does not distinguish the errors.
	if _, err := d.keys.VerifySignature(ctx, raw); unanswered(err) {
		return nil, fmt.Errorf("%w: read its keys: %w", ErrUnavailable, err)
	}
	identity, err := d.verifier.Verify(p.client.with(ctx), raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if subtle.ConstantTimeCompare([]byte(identity.Nonce), []byte(nonce)) != 1 {
		return nil, fmt.Errorf("%w: the ID token is of another sign-in (nonce)", ErrRejected)
	}
	var more struct {
		AuthorizedParty string `json:"azp"`
	}
	if err := identity.Claims(&more); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if party := more.AuthorizedParty; party != p.config.ClientID && (party != "" || len(identity.Audience) > 1) {
		return nil, fmt.Errorf("%w: the ID token is for %q (azp)", ErrRejected, party)
	}
	if identity.Subject == "" {
		return nil, fmt.Errorf("%w: the ID token has no subject", ErrRejected)
	}
	if identity.AccessTokenHash != "" {
		if err := identity.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRejected, err)
		}
	}
	return identity, nil
}

// exchangeError distinguishes a provider that refuses from one that does not answer. The rest
// of its answer is left out: it may contain what was sent.
func exchangeError(err error) error {
	refused := (*oauth2.RetrieveError)(nil)
	switch {
	case !errors.As(err, &refused):
		return fmt.Errorf("%w: exchange the code: %w", ErrUnavailable, err)
	case refused.Response == nil:
		return fmt.Errorf("%w: exchange the code: no answer %q", ErrUnavailable, refused.ErrorCode)
	}
	return fmt.Errorf("%w: it refused the code: %s %q", ErrRejected, refused.Response.Status, refused.ErrorCode)
}
