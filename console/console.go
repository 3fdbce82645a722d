// Package console is the control plane: the HTTP API through which people and
// programs see requests and decide them, the event stream, metrics and health.
//
// Reviewers prove who they are by a token, or by the session that a browser
// gets for one or for a sign-in by OpenID Connect, which is a cookie and a key for
// the page's origin; each route names the role that it takes. Without reviewers it
// listens on loopback only, and whoever reaches it is the reviewer "local".
// Browsers reach loopback too, so there requests under a foreign host name are
// refused, and writes from a foreign page everywhere.
package console

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/oidc"
)

const (
	headerTimeout    = 10 * time.Second // to read the head of a request
	bodyTimeout      = 30 * time.Second // to read the body of a request
	writeTimeout     = 30 * time.Second // to write an answer, or one event of a stream
	idleTimeout      = 2 * time.Minute
	defaultHeartbeat = 15 * time.Second
)

// Gate is what the console needs of [gate.Gate].
type Gate interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
	Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error)
	Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error)
	Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error)
	Runs() []approvals.Run
	RunByID(id string) (approvals.Run, error)
	Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error)
	Delegation(ctx context.Context, id string) (approvals.Delegation, error)
	Delegations() []approvals.Delegation
	RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error)
	Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error]
	LastSeq(ctx context.Context) (uint64, error)
}

// Options is what a [Console] is made of.
type Options struct {
	Listen    string // host:port, loopback unless there are reviewers; port 0 picks a free one
	URL       string // how reviewers reach it, where that is not Listen: http or https
	Gate      Gate
	Grants    Grants
	Audit     Audit
	Templates []approvals.GrantTemplate // of grants, as the configuration has them
	Reviewers *reviewers.Directory      // nil: everybody who reaches the console is the reviewer "local"
	OIDC      *oidc.Provider            // by which people sign in in a browser, besides tokens; with Reviewers and URL; nil: none
	// SelfApproval says that reviewers may approve what agents ask that act for them:
	// console.self_approval. The gate decides; here reviewers are told.
	SelfApproval bool
	Session      time.Duration         // how long a sign-in lasts; 0: 12 h
	Push         Push                  // tells reviewers in their browsers
	Checks       []Check               // of readiness
	Hooks        []Hook                // where services call
	Log          *slog.Logger          // nil: discards
	Registerer   prometheus.Registerer // nil: the console's own metrics are not exported
	Gatherer     prometheus.Gatherer   // nil: /metrics is empty
	Heartbeat    time.Duration         // between comments of an idle event stream; 0: 15 s
}

// Check is one named condition of readiness. It answers before the context
// ends.
type Check struct {
	Name  string
	Check func(context.Context) error
}

// Hook is where a service calls that tells people of requests. It proves by itself
// who calls, as by a signature: the console asks neither for a token nor for JSON.
type Hook struct {
	Path    string // such as /hooks/slack
	Handler http.Handler
}

// Console is the control plane's server.
type Console struct {
	gate         Gate
	grants       Grants
	audit        Audit
	templates    []approvals.GrantTemplate
	reviewers    *reviewers.Directory
	oidc         *oidc.Provider
	selfApproval bool
	sessions     *sessions
	attempts     *attempts
	sockets      *sockets
	secure       bool // browsers come over HTTPS
	entrance     entrance
	push         Push
	checks       []Check
	hooks        []Hook
	log          *slog.Logger
	heartbeat    time.Duration
	patience     time.Duration // with the body of a request; bodyTimeout outside tests
	stall        time.Duration // that a client of a WebSocket may; writeTimeout outside tests
	metrics      *metrics
	gatherer     prometheus.Gatherer
	api          func() object          // the OpenAPI document, made once
	reference    func() ([]byte, error) // the page that shows it, made once

	listen  string
	server  *http.Server
	ln      net.Listener
	replays chan struct{}   // a place for each event stream that reads what it has missed
	streams context.Context // ends when event streams and WebSockets must
	end     context.CancelFunc
	served  chan error // what Serve returned
}

// New makes a console; [Console.Start] starts it. Without reviewers it fails if
// Options.Listen is not a loopback address.
func New(o Options) (*Console, error) {
	entrance, err := newEntrance(o)
	if err != nil {
		return nil, err
	}
	c := &Console{
		gate:         o.Gate,
		grants:       o.Grants,
		audit:        o.Audit,
		templates:    o.Templates,
		selfApproval: o.SelfApproval, reviewers: o.Reviewers,
		oidc:      o.OIDC,
		sessions:  newSessions(o.Session),
		attempts:  newAttempts(),
		sockets:   newSockets(),
		secure:    strings.HasPrefix(o.URL, "https:"),
		entrance:  entrance,
		push:      o.Push,
		checks:    o.Checks,
		hooks:     o.Hooks,
		log:       o.Log,
		heartbeat: o.Heartbeat,
		patience:  bodyTimeout,
		stall:     writeTimeout,
		replays:   make(chan struct{}, mostReplays),
		metrics:   newMetrics(o.Registerer),
		gatherer:  o.Gatherer,
		listen:    o.Listen,
		served:    make(chan error, 1),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.heartbeat == 0 {
		c.heartbeat = defaultHeartbeat
	}
	if c.gatherer == nil {
		c.gatherer = prometheus.NewRegistry()
	}
	c.api = sync.OnceValue(func() object { return describeAPI(c.routes()) })
	c.reference = sync.OnceValues(func() ([]byte, error) { return writeReference(c.routes(), c.api()) })
	c.streams, c.end = context.WithCancel(context.Background())
	c.server = &http.Server{
		Handler:           c.handler(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	return c, nil
}

// Start listens and serves until [Console.Shutdown].
func (c *Console) Start() error {
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("start the console: %w", err)
	}
	if address, ok := ln.Addr().(*net.TCPAddr); c.reviewers == nil && (!ok || !address.IP.IsLoopback()) {
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
// else why it could not go on.
func (c *Console) Served() <-chan error { return c.served }

// Addr is the host:port that the console listens on, once started.
func (c *Console) Addr() string { return c.ln.Addr().String() }

// Shutdown ends the event streams and WebSockets, lets other requests finish until the context
// ends, and closes what is left. A console that was not started only ends.
func (c *Console) Shutdown(ctx context.Context) error {
	c.end()
	defer c.sessions.closeAll()
	err := c.server.Shutdown(ctx)
	if err != nil {
		c.server.Close()
	}
	if err := errors.Join(err, c.sockets.close(ctx)); err != nil {
		return fmt.Errorf("stop the console: %w", err)
	}
	return nil
}
