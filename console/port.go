package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/console/problem"
)

// startPatience is how long a request waits for the console.
const startPatience = 15 * time.Second

// starting is the answer to requests before the console is there.
const starting = "heldcall is starting: it reads its state"

// Port is the port of a [Console]. It may be open before the console is there: then it answers health checks,
// shows browsers a page that loads itself again, and lets other requests wait.
type Port struct {
	policy bindPolicy
	ln     net.Listener
	server *http.Server
	log    *slog.Logger
	served chan error // the result of Serve

	console http.Handler  // set before ready is closed
	ready   chan struct{} // closed when the console is there
	closing context.Context
	close   context.CancelFunc
}

// PortOptions configures a [Port].
type PortOptions struct {
	Listen    string       // host:port
	URL       string       // of the console, "" if it is Listen
	Reviewers bool         // there are some; without them Listen must be a loopback address
	Socket    net.Listener // that a supervisor has opened, in place of Listen, which then is its address; nil: none
	Log       *slog.Logger // nil: discards
}

// Open opens a port and serves it until [Port.Close], or the shutdown of its console.
func Open(o PortOptions) (*Port, error) {
	policy, err := newBindPolicy(o.Listen, o.URL, o.Reviewers)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ln := o.Socket
	if ln == nil {
		if ln, err = net.Listen("tcp", o.Listen); err != nil {
			return nil, fmt.Errorf("start the console: %w", err)
		}
	}
	if address, ok := ln.Addr().(*net.TCPAddr); !o.Reviewers && (!ok || !address.IP.IsLoopback()) {
		ln.Close()
		return nil, fmt.Errorf("start the console: %s is %s here, which is not a loopback address, and there are no reviewers: set console.listen to 127.0.0.1", o.Listen, ln.Addr())
	}
	p := &Port{policy: policy, ln: ln, log: o.Log, served: make(chan error, 1), ready: make(chan struct{})}
	p.closing, p.close = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serveHTTP),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	go p.serve()
	o.Log.Debug("console listens", "url", "http://"+p.Addr())
	return p, nil
}

func (p *Port) serve() {
	err := p.server.Serve(p.ln)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	p.served <- err
	close(p.served)
}

// Addr is the host:port of the port.
func (p *Port) Addr() string { return p.ln.Addr().String() }

// Close refuses the requests that still wait, lets others finish until the context ends, and closes the port.
func (p *Port) Close(ctx context.Context) error {
	p.close()
	err := p.server.Shutdown(ctx)
	if err != nil {
		p.server.Close()
	}
	return err
}

// admit lets requests in to the console.
func (p *Port) admit(console http.Handler) {
	p.console = console
	close(p.ready)
}

func (p *Port) serveHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-p.ready:
		p.console.ServeHTTP(w, r)
		return
	default:
	}
	err := p.policy.Guard(r)
	switch {
	case err != nil:
	case r.URL.Path == "/healthz":
		err = answer(w, healthReply{"ok"})
	case r.URL.Path == "/readyz":
		err = notStarted("not ready: " + starting)
	case navigates(r):
		showStarting(w)
	case p.await(r.Context()):
		p.console.ServeHTTP(w, r)
	case p.closing.Err() != nil:
		err = notStarted("heldcall could not start, or was stopped before it had; its log has the cause")
	default:
		err = notStarted(fmt.Sprintf("%s for more than %v; send the request again later", starting, startPatience))
	}
	if err != nil {
		p.refuse(w, problemOf(r.Method, err))
	}
}

// await waits for the console, and reports whether it is there.
func (p *Port) await(ctx context.Context) bool {
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	select {
	case <-p.ready:
		return true
	case <-patience.C:
	case <-p.closing.Done():
	case <-ctx.Done():
	}
	return false
}

func notStarted(detail string) *problem.Problem {
	refusal := problem.New(http.StatusServiceUnavailable, problem.CodeNotReady, detail)
	refusal.Checks = []problem.Check{{Name: "start", Error: starting}}
	return refusal
}

// refuse answers with a problem.
func (p *Port) refuse(w http.ResponseWriter, refusal *problem.Problem) {
	w.Header().Set("Cache-Control", "no-store")
	if refusal.Code == problem.CodeNotReady {
		w.Header().Set("Retry-After", "1")
	}
	if err := writeJSON(w, refusal.Status, problem.ContentType, refusal); err != nil {
		p.log.Error("console problem could not be written", "error", err)
	}
}

// showStarting answers a browser with a page that loads itself again.
func showStarting(w http.ResponseWriter) {
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		"Content-Type": "text/html; charset=utf-8", "Refresh": "1", "Retry-After": "1", "X-Content-Type-Options": "nosniff",
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "<!doctype html><html lang=en><title>heldcall is starting</title><p>heldcall is starting: it reads its state. This page loads again by itself.\n")
}
