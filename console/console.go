// Package console is the control plane: the HTTP API through which people and
// programs see requests and decide them, the event stream, metrics and health.
//
// Reviewers authenticate by a token, or by the session that a browser gets for one
// or for a sign-in by OpenID Connect, which is a cookie and a key for the page's
// origin; each route names the role that the sender needs. Without reviewers the
// console listens on loopback only, and every sender is the reviewer "local".
// Browsers reach loopback too, so there requests under a foreign host name are
// refused, and writes from a foreign page everywhere.
//
// To read it: options.go, New, routes.go (all routes), router.go (what surrounds each
// request), bind_policy.go and authenticate.go (which requests are served, and who sent
// them), requests.go (a resource); then the other resources, and live.go for the streams.
package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	headerTimeout    = 10 * time.Second // to read the head of a request
	bodyTimeout      = 30 * time.Second // to read the body of a request
	writeTimeout     = 30 * time.Second // to write an answer, or one event of a stream
	idleTimeout      = 2 * time.Minute
	defaultHeartbeat = 15 * time.Second
)

// Console is the control plane's server.
type Console struct {
	handlers *handlers
	router   *router
	handler  http.Handler
	port     *Port // nil before Start, if the options have none
	options  PortOptions
}

// New makes a console; [Console.Start] starts it. Without reviewers it fails if
// Options.Listen is not a loopback address.
func New(o Options) (*Console, error) {
	o = o.withDefaults()
	policy, err := newBindPolicy(o.Listen, o.URL, o.Reviewers != nil)
	if err != nil {
		return nil, err
	}
	auth := &authenticator{Reviewers: o.Reviewers, Sessions: newSessions(o.Session), Secure: strings.HasPrefix(o.URL, "https:")}
	if o.Sessions != "" && o.Reviewers != nil {
		if err := auth.Sessions.load(o.Sessions, o.Reviewers); err != nil {
			o.Log.Warn("browsers must sign in again", "error", err)
		}
	}
	metrics := newMetrics(o.Registerer)
	c := &Console{
		handlers: newHandlers(o, policy, auth, metrics),
		router:   &router{policy: policy, auth: auth, bodyTimeout: bodyTimeout, metrics: metrics, log: o.Log},
		port:     o.Port,
		options:  PortOptions{Listen: o.Listen, URL: o.URL, Reviewers: o.Reviewers != nil, Log: o.Log},
	}
	c.router.useHooks(o.Hooks)
	c.handler = c.router.handler(append(c.handlers.routes(), c.handlers.browserRoutes()...))
	return c, nil
}

// UseHooks replaces the hooks of the options. Calls that have begun end as usual.
func (c *Console) UseHooks(hooks []Hook) { c.router.useHooks(hooks) }

func newHandlers(o Options, policy bindPolicy, auth *authenticator, m *metrics) *handlers {
	gate := scopedGate{o.Gate}
	requests := requestHandlers{gate}
	h := &handlers{
		requests:    requests,
		runs:        runHandlers{gate, scopedSignals{o.Signals}, scopedGrants{o.Grants}},
		grants:      grantHandlers{gate, scopedGrants{o.Grants}, o.Templates},
		proposals:   proposalHandlers{scopedPropose(o.Propose)},
		secrets:     secretHandlers{scopedSecrets{o.Secrets}},
		delegations: delegationHandlers{gate, o.Reviewers},
		audit:       auditHandlers{scopedAudit{o.Audit, o.Differences}},
		live:        newLiveHandlers(o, requests, m),
		push:        pushHandlers{o.Push},
		passkeys:    passkeyHandlers{o.Passkeys, requests},
		signIn: &signInHandlers{
			auth: auth, gate: gate, oidc: o.OIDC, origin: policy.Origin(), attempts: newAttempts(), selfApproval: o.SelfApproval, log: o.Log,
		},
		pages:  &pageHandlers{gatherer: o.Gatherer},
		health: healthHandlers{o.Checks},
	}
	h.pages.describeRoutes(h.routes())
	return h
}

// Start serves until [Console.Shutdown], at the port of the options, or at one that it opens.
func (c *Console) Start() (err error) {
	if c.port == nil {
		if c.port, err = Open(c.options); err != nil {
			return err
		}
	}
	c.port.admit(c.handler)
	return nil
}

// Served receives one value when the server has stopped: nil after a shutdown,
// else the error that stopped it.
func (c *Console) Served() <-chan error { return c.port.served }

// Addr is the host:port that the console listens on, once started.
func (c *Console) Addr() string { return c.port.Addr() }

// Shutdown ends the event streams and WebSockets, lets other requests finish until the context
// ends, and closes the others. A console that was not started only ends.
func (c *Console) Shutdown(ctx context.Context) error {
	c.handlers.live.end()
	defer c.router.auth.Sessions.closeAll()
	var err error
	if c.port != nil {
		err = c.port.Close(ctx)
	}
	if err := errors.Join(err, c.handlers.live.open.close(ctx)); err != nil {
		return fmt.Errorf("stop the console: %w", err)
	}
	return nil
}
