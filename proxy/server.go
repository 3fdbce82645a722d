package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/inner"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

const (
	headerBuffer   = agentconn.ReadBufferSize // also the limit of a request's head
	writeBuffer    = 512                      // stays with each answer while calls of it are held; see agentconn.Conn
	readTimeout    = 30 * time.Second         // for a request's head and a small body to arrive; see admission.go for others
	idleTimeout    = 120 * time.Second        // between two requests
	defaultGrace   = 3 * time.Second
	forceCloseWait = 2 * time.Second
	closeWait      = 5 * time.Second // longer than agents' connections linger
)

// defaultAbortRest is longer than clients wait before they repeat a failed request: at
// most 8 s for the SDKs of OpenAI and Anthropic, half a minute for the last of
// LangChain's six attempts.
const defaultAbortRest = time.Minute

// Proxy is the data plane.
type Proxy struct {
	options   Options
	router    *router
	clients   atomic.Pointer[clients]
	web       webGuard
	log       *slog.Logger
	metrics   *metrics
	turns     *turn.Engine
	inner     *inner.Judge
	releases  *inner.Releases
	server    *fasthttp.Server
	ln        *agentconn.Listener
	served    chan error
	reclaimer memoryReclaimer
	memory    *memory.Budget
	service   service
	sockets   sync.WaitGroup // the WebSockets of agents

	base context.Context // ends every exchange
	stop context.CancelCauseFunc
}

// New makes a proxy that is not listening yet. Without [Services], its requests wait for [Proxy.Provide] and
// [Proxy.Open]; with them they are served at once.
func New(o Options) (*Proxy, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	o.StartPatience = cmp.Or(o.StartPatience, defaultStartPatience)
	o.ShutdownGrace = cmp.Or(o.ShutdownGrace, defaultGrace)
	o.AbortRest = cmp.Or(o.AbortRest, defaultAbortRest)
	if o.FreeMemory == nil {
		o.FreeMemory = freeMemory
	}
	if o.Memory == nil {
		o.Memory = memory.NewBudget(math.MaxInt64)
	}
	p := &Proxy{
		options:   o,
		log:       o.Log,
		metrics:   newMetrics(o.Registerer),
		served:    make(chan error, 1),
		reclaimer: memoryReclaimer{free: o.FreeMemory, limit: o.GoLimit},
		memory:    o.Memory,
		releases:  inner.NewReleases(),
		service:   service{opened: make(chan struct{}), stopped: make(chan struct{}), patience: o.StartPatience},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if p.web, err = newWebGuard(o.Listen, o.Hosts, o.Origins); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	var upstreams []*upstream.Client
	p.clients.Store(newClients(o.Clients, nil))
	for _, u := range o.Upstreams {
		up, err := upstream.New(u)
		if err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		upstreams = append(upstreams, up)
	}
	p.router = newRouter(upstreams, o.Dialects, o.Routes)
	p.base, p.stop = context.WithCancelCause(context.Background())
	p.server = p.newServer()
	p.reclaimer.conns = func() int { return int(p.server.GetOpenConnectionsCount()) }
	if o.Gate == nil {
		return p, nil
	}
	if err := p.Provide(o.Services); err != nil {
		return nil, err
	}
	close(p.service.opened)
	return p, nil
}

// Provide gives the proxy what New had not, before Open. The canary can then be sent.
func (p *Proxy) Provide(s Services) error {
	if s.Judge == nil || s.Gate == nil || s.Turns == nil {
		return errors.New("proxy: judge, gate and turns are needed")
	}
	p.options.Services = s
	p.turns = p.newEngine()
	p.inner = p.newInner()
	return nil
}

// Open lets the requests in that wait for the start, and all others. Call it once, after Provide.
func (p *Proxy) Open() {
	close(p.service.opened)
	p.reclaimer.started()
}

// newEngine makes the engine of the turns.
func (p *Proxy) newEngine() *turn.Engine {
	o := &p.options
	e := turn.NewEngine(turn.Options{
		Limits: turn.Limits{
			MaxBody: o.MaxBody, MaxContinuations: o.MaxContinuations, MaxDenials: o.MaxDenials,
			Keepalive: o.Keepalive, MaxWait: o.MaxWait, AbortRest: o.AbortRest, Park: o.Park, ParkAfter: o.ParkAfter,
		},
		Gate: o.Gate, Store: o.Turns, Keeper: o.Keeper, Dialects: o.Dialects,
		Judge: o.Judge,
		Used:  o.Used, Held: p.reclaimer.holdBegan, Log: p.log,
		Left: p.releases.Released,
	}, o.Registerer)
	e.Conversations.Released, e.Conversations.Redact = o.Results, p.redact
	return e
}

// newServer configures fasthttp so that none of its defaults cuts a long hold, a
// large prompt or a slow model, and nothing is added to what passes.
func (p *Proxy) newServer() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                       func(ctx *fasthttp.RequestCtx) { p.serve(newAgent(ctx)) },
		HeaderReceived:                p.headerReceived,
		ExpectHandler:                 func(ctx *fasthttp.RequestCtx) int { return p.admitBody(newAgent(ctx)) },
		ErrorHandler:                  func(ctx *fasthttp.RequestCtx, err error) { p.refuseUnreadable(newAgent(ctx), err) },
		NoDefaultServerHeader:         true,
		NoDefaultDate:                 true,
		NoDefaultContentType:          true,
		DisableHeaderNamesNormalizing: true,
		DisablePreParseMultipartForm:  true,
		SecureErrorLogMessage:         true,
		ReduceMemoryUsage:             true,
		CloseOnShutdown:               true,
		MaxRequestBodySize:            p.options.MaxBody,
		ReadBufferSize:                headerBuffer,
		WriteBufferSize:               writeBuffer,
		ReadTimeout:                   readTimeout,
		IdleTimeout:                   idleTimeout,
		Logger:                        quietLogger{p.log},
	}
}

// quietLogger logs fasthttp's own messages at debug level: important errors are logged
// where they are handled.
type quietLogger struct{ log *slog.Logger }

func (q quietLogger) Printf(format string, args ...any) {
	q.log.Debug("fasthttp", "message", fmt.Sprintf(format, args...))
}

// Start listens until [Proxy.Close].
func (p *Proxy) Start(ctx context.Context) (err error) {
	if p.ln, err = p.listen(ctx); err != nil {
		return err
	}
	go func() { p.served <- p.server.Serve(p.ln) }()
	if p.service.isOpen() {
		p.reclaimer.started()
	}
	return nil
}

// listen opens the port, or takes that of [Options.Socket].
func (p *Proxy) listen(ctx context.Context) (*agentconn.Listener, error) {
	if p.options.Socket != nil {
		return agentconn.Take(p.options.Socket, p.memory)
	}
	return agentconn.Listen(ctx, p.options.Listen, p.memory)
}

// ToolOffers returns how many requests on gated routes have asked for a new answer so
// far, and how many of them offered the model tools.
func (p *Proxy) ToolOffers() (requests, offering int) { return p.turns.Offers.Requests() }

// Served yields the error that ended serving, if it ended by itself.
func (p *Proxy) Served() <-chan error { return p.served }

// Addr is the address that agents connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Shutdown is Drain and Close.
func (p *Proxy) Shutdown(ctx context.Context) error {
	return errors.Join(p.Drain(ctx), p.Close(ctx))
}

// Drain ends every hold with an error for the agent (the requests stay pending in the store), lets streams
// end for the grace period, and then ends all answers. The port stays open, so that clients which send
// their requests again find one that answers: with 503 shutting_down. One of [Options.Socket] is left at
// once to the process that takes it next; until then connections wait in it.
func (p *Proxy) Drain(ctx context.Context) error {
	done := p.service.stop()
	p.turns.Drain()
	p.reclaimer.end()
	if p.options.Socket != nil && p.ln != nil {
		_ = p.ln.Close()
	}
	grace, cancel := context.WithTimeout(ctx, p.options.ShutdownGrace)
	defer cancel()
	err := ended(grace, done)
	p.stop(turn.ErrShuttingDown)
	if err != nil {
		force, cancel := context.WithTimeout(context.WithoutCancel(ctx), forceCloseWait)
		defer cancel()
		err = ended(force, done)
	}
	for _, u := range p.router.upstreams {
		u.Close()
	}
	if err != nil {
		return fmt.Errorf("proxy: answers were cut at shutdown: %w", err)
	}
	return nil
}

// Close closes the port and all connections. Requests that still wait for the start are refused. Call it
// once, at the very end.
func (p *Proxy) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	done := p.service.stop()
	p.stop(errNotStarted)
	_ = ended(ctx, done) // those that do not end are cut now
	if p.ln != nil {
		_ = p.ln.Close() // fasthttp does not, if Serve has only just begun
	}
	err := p.server.ShutdownWithContext(ctx)
	p.sockets.Wait()
	if p.ln != nil {
		p.ln.Stop()
	}
	if err != nil {
		return fmt.Errorf("proxy: connections were cut at shutdown: %w", err)
	}
	return nil
}

// refuseUnreadable answers a request that fasthttp could not read. The text never quotes
// its bytes.
func (p *Proxy) refuseUnreadable(a agent, err error) {
	e := &intercept.Error{Code: intercept.CodeBadRequest, Reason: "the request is not readable HTTP/1.1"}
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		e = &intercept.Error{Code: intercept.CodeRequestTooLarge, Reason: fmt.Sprintf("the request body is larger than proxy.max_body (%d bytes), or in chunks than two thirds of the memory for requests", p.options.MaxBody)}
	case errors.As(err, &small):
		e.Reason = fmt.Sprintf("the request's head is larger than %d bytes", headerBuffer)
	case errors.As(err, &e):
	case errors.As(err, &network) && network.Timeout():
		e.Reason = "the request arrived too slowly"
	}
	if a.conn != nil {
		a.conn.Linger()
	}
	p.metrics.refused(e.Code)
	p.answerError(&a, nil, e)
	a.response().Header.Set(headerTurn, ulid.Make().String())
}

// answerError writes an error in the shape of the dialect, or as the denial of a hook. If the route has no dialect, it uses
// the probable one of the client.
func (p *Proxy) answerError(a *agent, d intercept.Dialect, e *intercept.Error) {
	if form := hookOf(&a.request().Header); form != nil {
		a.refuseHook(form, e)
		return
	}
	if d == nil {
		d = p.spoken(&a.request().Header)
	}
	a.setError(e.Status(), d.Error(e))
}

// spoken returns the probable dialect of the client, else the first.
func (p *Proxy) spoken(h *fasthttp.RequestHeader) intercept.Dialect {
	path, _, _ := strings.Cut(string(h.RequestURI()), "?")
	for _, d := range p.options.Dialects {
		if d.Matches(path, func(name string) bool { return hasHeader(h, name) }) {
			return d
		}
	}
	return p.options.Dialects[0]
}
