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
	"log/slog"
	"net"
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
	server   *http.Server
	listen   string
	log      *slog.Logger

	ln     net.Listener
	served chan error // the result of Serve
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
	metrics := newMetrics(o.Registerer)
	c := &Console{
		handlers: newHandlers(o, policy, auth, metrics),
		router:   &router{policy: policy, auth: auth, bodyTimeout: bodyTimeout, metrics: metrics, log: o.Log},
		listen:   o.Listen,
		log:      o.Log,
		served:   make(chan error, 1),
	}
	c.server = &http.Server{
		Handler:           c.router.handler(append(c.handlers.routes(), c.handlers.browserRoutes()...), o.Hooks),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return c, nil
}

func newHandlers(o Options, policy bindPolicy, auth *authenticator, m *metrics) *handlers {
	requests := requestHandlers{o.Gate}
	h := &handlers{
		requests:    requests,
		runs:        runHandlers{o.Gate, o.Signals},
		grants:      grantHandlers{o.Gate, o.Grants, o.Templates},
		proposals:   proposalHandlers{o.Propose},
		secrets:     secretHandlers{o.Secrets},
		delegations: delegationHandlers{o.Gate, o.Reviewers},
		audit:       auditHandlers{o.Audit},
		live:        newLiveHandlers(o, requests, m),
		push:        pushHandlers{o.Push},
		passkeys:    passkeyHandlers{o.Passkeys, requests},
		signIn: &signInHandlers{
			auth: auth, gate: o.Gate, oidc: o.OIDC, origin: policy.Origin(), attempts: newAttempts(), selfApproval: o.SelfApproval, log: o.Log,
		},
		pages:  &pageHandlers{gatherer: o.Gatherer},
		health: healthHandlers{o.Checks},
	}
	h.pages.describeRoutes(h.routes())
	return h
}

// Start listens and serves until [Console.Shutdown].
func (c *Console) Start() error {
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("start the console: %w", err)
	}
	if address, ok := ln.Addr().(*net.TCPAddr); c.router.auth.Reviewers == nil && (!ok || !address.IP.IsLoopback()) {
		ln.Close()
		return fmt.Errorf("start the console: %s is %s here, which is not a loopback address, and there are no reviewers: set console.listen to 127.0.0.1", c.listen, ln.Addr())
	}
	c.ln = ln
	go func() {
		err := c.server.Serve(ln)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		c.served <- err
		close(c.served)
	}()
	c.log.Debug("console listens", "url", "http://"+c.Addr())
	return nil
}

// Served receives one value when the server has stopped: nil after a shutdown,
// else the error that stopped it.
func (c *Console) Served() <-chan error { return c.served }

// Addr is the host:port that the console listens on, once started.
func (c *Console) Addr() string { return c.ln.Addr().String() }

// Shutdown ends the event streams and WebSockets, lets other requests finish until the context
// ends, and closes the others. A console that was not started only ends.
func (c *Console) Shutdown(ctx context.Context) error {
	c.handlers.live.end()
	defer c.router.auth.Sessions.closeAll()
	err := c.server.Shutdown(ctx)
	if err != nil {
		c.server.Close()
	}
	if err := errors.Join(err, c.handlers.live.open.close(ctx)); err != nil {
		return fmt.Errorf("stop the console: %w", err)
	}
	return nil
}
