// Package oidc signs people in by an OpenID Connect provider: the authorization
// code flow with PKCE, of which only the person's name and groups are kept.
//
// The console's own page begins a sign-in and ends it. In between, the browser is
// at the provider, which sends it back to one fixed address with a code. A code is
// taken together with the secret that the page was given at the beginning and kept
// for its origin: somebody else's code, or a code in another browser, is worth
// nothing.
//
// The provider is asked about itself when the first person signs in, and again
// until it answers, so that heldcall runs while the provider does not.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

// CallbackPath is where the provider sends browsers back to, below the console's
// URL.
const CallbackPath = "/auth/oidc/callback"

// patience bounds all that one step of a sign-in asks of the provider.
const patience = 15 * time.Second

// Config is how people sign in, and what becomes of what the provider says of
// them.
type Config struct {
	Issuer       string // https, or http on loopback
	ClientID     string
	ClientSecret string // "" for a client without one
	ConsoleURL   string // of the console, as browsers reach it
	Scopes       []string

	NameClaim      string   // names the reviewer; "email" is taken only if it is verified
	GroupsClaim    string   // a list, or one group
	EmailDomains   []string // of one of which the verified address must be; empty: any
	RequiredGroups []string // of one of which the person must be a member; empty: none
	Role           reviewers.Role
	Memberships    []Membership

	// Configured finds a reviewer of the configuration by name; it stands for what
	// the claims would give them. nil: there are none.
	Configured func(name string) (reviewers.Reviewer, bool)
}

// Membership is what a group of the provider gives its members.
type Membership struct {
	Group  string
	Role   reviewers.Role // "" gives none
	Groups []string       // that rules name
}

var (
	// ErrUnavailable reports that the provider did not answer, or not as one.
	ErrUnavailable = errors.New("the OpenID Connect provider is not available")
	// ErrUnknown reports that no sign-in of this browser waits for the code: it took
	// too long, has ended, or began elsewhere.
	ErrUnknown = errors.New("no sign-in of this browser waits for this code")
	// ErrRejected reports that the provider refused the code, or that what it answered
	// proves no identity.
	ErrRejected = errors.New("the provider's answer does not prove who you are")
)

// RefusedError reports that a person is known and has no access.
type RefusedError struct {
	Who    string // "" if even that was missing
	Reason string
}

// Error is the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client
	flows  *flows
	found  atomic.Pointer[discovered]
	asking chan struct{} // held by the goroutine that reads the provider's metadata
}

// New makes a provider of a configuration that was checked. Nothing is asked yet.
func New(c Config) *Provider {
	if !slices.Contains(c.Scopes, oidc.ScopeOpenID) {
		c.Scopes = append([]string{oidc.ScopeOpenID}, c.Scopes...)
	}
	return &Provider{
		config: c,
		client: &http.Client{Transport: wholeTransport{http.DefaultTransport}, Timeout: patience, CheckRedirect: checkRedirect},
		flows:  newFlows(),
		asking: make(chan struct{}, 1),
	}
}

// Begun is a sign-in that has begun.
type Begun struct {
	URL    string `json:"url"`    // of the provider, where the browser goes
	Secret string `json:"secret"` // that the page keeps for its origin, and returns with the code
}

// Begin begins a sign-in. It fails with [ErrUnavailable].
func (p *Provider) Begin(ctx context.Context) (Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return Begun{}, err
	}
	begun, state, secret := p.flows.begin(time.Now())
	to := d.oauth.AuthCodeURL(state, oidc.Nonce(begun.nonce), oauth2.S256ChallengeOption(begun.verifier))
	return Begun{URL: to, Secret: secret}, nil
}

// Returned is what a browser brings back from the provider, and the secret of the
// sign-in that it began.
type Returned struct {
	Code   string `json:"code"`
	State  string `json:"state"`
	Secret string `json:"secret"`
}

// Finish ends a sign-in: it returns the person and their rights. A
// sign-in can be ended once, whatever its outcome. It fails with [ErrUnknown],
// [ErrRejected], [*RefusedError] or [ErrUnavailable].
func (p *Provider) Finish(ctx context.Context, r Returned) (reviewers.Reviewer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun, known := p.flows.end(r.State, r.Secret, time.Now())
	if !known {
		return reviewers.Reviewer{}, ErrUnknown
	}
	d, err := p.discover(ctx)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	token, err := d.oauth.Exchange(p.with(ctx), r.Code, oauth2.VerifierOption(begun.verifier))
	if err != nil {
		return reviewers.Reviewer{}, exchangeError(err)
	}
	identity, err := p.verify(ctx, d, token, begun.nonce)
	if err != nil {
		return reviewers.Reviewer{}, err
	}
	claims, err := p.claims(ctx, d, token, identity)
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
	identity, err := d.verifier.Verify(p.with(ctx), raw)
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

// exchangeError distinguishes a provider that refuses from one that does not answer. What
// it answers besides the code of the error may contain the request.
func exchangeError(err error) error {
	if refused := (*oauth2.RetrieveError)(nil); !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("%w: exchange the code: %s", ErrUnavailable, withoutBody(err))
	}
	return fmt.Errorf("%w: it refused the code: %s", ErrRejected, withoutBody(err))
}

// withoutBody is the text of an error of the exchange without the provider's
// words.
func withoutBody(err error) string {
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) {
		status := "no answer"
		if refused.Response != nil {
			status = refused.Response.Status
		}
		return fmt.Sprintf("%s %q", status, refused.ErrorCode)
	}
	return err.Error()
}
