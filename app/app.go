package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/internal/telemetry"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/webpush"
	"github.com/heldcall/heldcall/proxy"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// stopWithin bounds the orderly stop of all parts.
const stopWithin = 30 * time.Second

// Options is what an [App] is made of.
type Options struct {
	Config     Config
	ConfigFile string // as the operator named it, "" if there is none; the log tells
	Log        *slog.Logger
	Version    string
	// Notice is called for each event that is recorded about a request or a call, in
	// place of [LogEvent] with Log. It must not block. Nil: LogEvent.
	Notice func(approvals.Event)

	canary func(context.Context, *proxy.Proxy) error // what proves the proxy at the start; nil: its own canary
}

// App is a whole heldcall: store, gate, channels, console and proxy.
type App struct {
	config   Config
	file     string // of the configuration
	log      *slog.Logger
	version  string
	notice   func(approvals.Event)
	registry *prometheus.Registry
	started  chan struct{}

	judge         *judge.Judge
	policyMetrics policyMetrics
	reload        chan struct{}

	reviewers *reviewers.Directory // nil without any

	store    *store.Store
	book     *grants.Grants
	gate     *gate.Gate
	push     *webpush.Push
	bots     *nats.Service
	channels channels
	console  *console.Console
	proxy    *proxy.Proxy
	canary   canaryResult
	tracer   trace.Tracer // nil without tracing
}

// New reads the policies. Nothing runs yet.
func New(o Options) (*App, error) {
	a := &App{
		config: o.Config, file: o.ConfigFile, log: o.Log, version: o.Version,
		registry: telemetry.NewRegistry(o.Version),
		started:  make(chan struct{}),
		reload:   make(chan struct{}, 1),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.notice = o.Notice; a.notice == nil {
		log := a.log.With("component", "gate")
		a.notice = func(e approvals.Event) { LogEvent(log, e) }
	}
	var err error
	if a.reviewers, err = a.config.Console.directory(); err != nil {
		return nil, fmt.Errorf("console.reviewers: %w", err)
	}
	a.policyMetrics = newPolicyMetrics(a.registry)
	if a.canary.try = o.canary; a.canary.try == nil {
		a.canary.try = func(ctx context.Context, p *proxy.Proxy) error { return p.Canary(ctx) }
	}
	a.canary.export(a.registry)
	a.judge = newJudge(o.Config, a.log)
	if err := a.judge.Load(); err != nil {
		return nil, err
	}
	return a, nil
}

// Started is closed when agents and reviewers are being served.
func (a *App) Started() <-chan struct{} { return a.started }

// ProxyAddr is the host:port that agents connect to, once started.
func (a *App) ProxyAddr() string { return a.proxy.Addr() }

// ConsoleURL is the address of the console, once started.
func (a *App) ConsoleURL() string { return "http://" + a.console.Addr() }

// NATSAddr is the host:port of the embedded NATS server for bots, "" without
// one, once started.
func (a *App) NATSAddr() string { return a.store.ListenAddr() }

// ToolOffers returns how many requests for an answer of the model the proxy has taken
// so far, and how many of them offered the model tools.
func (a *App) ToolOffers() (requests, offering int) { return a.proxy.ToolOffers() }

// AgentRequests is how many requests of agents the proxy has taken so far, those
// that it refused included.
func (a *App) AgentRequests() (int, error) {
	families, err := a.registry.Gather()
	if err != nil {
		return 0, fmt.Errorf("read the metrics: %w", err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != "heldcall_requests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			total += metric.GetCounter().GetValue()
		}
	}
	return int(total), nil
}

// Run starts every part in order, serves until the context ends or a part
// fails, and stops in the reverse order: first what takes work in, last the
// store.
func (a *App) Run(ctx context.Context) (err error) {
	var running lifecycle
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err = errors.Join(err, running.stop(stop))
	}()
	a.logSources()
	if err := a.start(ctx, &running); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting
		}
		return err
	}
	a.announce()
	close(a.started)
	select {
	case <-ctx.Done():
		a.log.Info("stopping")
		return nil
	case err := <-a.proxy.Served():
		return fmt.Errorf("the proxy has stopped: %w", err)
	case err := <-a.console.Served():
		return fmt.Errorf("the console has stopped: %w", err)
	case err := <-running.failed:
		return err
	}
}

func (a *App) start(ctx context.Context, running *lifecycle) error {
	steps := []func(context.Context, *lifecycle) error{a.startTracing, a.startPolicy, a.openStore, a.startGrants, a.startGate, a.startPush, a.startBots, a.makeChannels, a.startProxy, a.startConsole, a.startChannels}
	for _, step := range steps {
		if err := step(ctx, running); err != nil {
			return err
		}
	}
	return nil
}

// openStore names the setting behind what is wrong with an external server; the
// embedded one does so itself.
func (a *App) openStore(ctx context.Context, running *lifecycle) error {
	err := a.startStore(ctx, running)
	if err != nil && a.config.NATS.URL != "" {
		return fmt.Errorf("nats.url %s: %w", redactURLs(a.config.NATS.URL), err)
	}
	return err
}

// logSources says what heldcall goes by, and where it keeps its state.
func (a *App) logSources() {
	where, state := "nats", redactURLs(a.config.NATS.URL)
	if a.config.NATS.URL == "" {
		where, state = "data", absolute(a.config.NATS.Dir)
	}
	rules := a.config.Policy.String()
	if !a.config.Policy.Absent() {
		rules = absolute(rules)
	}
	a.log.Info("configuration", "file", cmp.Or(a.file, "none, defaults"), "policy", rules, where, state)
}

// absolute is the whole path, for who does not know the working directory.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

func (a *App) announce() {
	for _, u := range a.config.Proxy.Upstreams {
		a.log.Info("proxy ready", "base_url", "http://"+a.ProxyAddr()+u.Prefix, "upstream", redactURL(u.URL))
	}
	a.announceConsole()
	a.warnOfVacantRoutes()
	if addr := a.NATSAddr(); addr != "" {
		a.log.Info("NATS listening", "url", "nats://"+addr)
		if a.config.NATS.Auth == natsOpen && a.reviewers != nil {
			a.log.Warn("nats.auth is open: clients of NATS without a token read all requests and events, and can take messages from the consumers of others; remove nats.auth", "url", "nats://"+addr)
		}
	}
}

// announceConsole says where people decide, and who may.
func (a *App) announceConsole() {
	if a.reviewers == nil {
		a.log.Warn("no reviewers configured: anyone on this machine can approve, agents on it too (docs/hardening.md)", "console", a.ConsoleURL())
		return
	}
	c := a.config.Console
	if !c.asks() {
		a.log.Info("reviewers: the token of this run is needed to approve", "console", a.ConsoleURL())
		return
	}
	a.log.Info("reviewers: sign in", "console", cmp.Or(c.URL, a.ConsoleURL()), "configured", len(c.Reviewers), "oidc", cmp.Or(c.OIDC.Issuer, "none"))
	for _, s := range a.judge.Sources() {
		a.warnOfVacantGroups(s)
	}
	if names := c.twoNames(); len(names) > 0 {
		a.log.Warn("who signs in by the provider is another reviewer than who has one of these tokens: where that is one person, write their address as user in console.reviewers", "reviewers", names)
	}
	if host, _, _ := net.SplitHostPort(c.Listen); !isLoopback(host) && !strings.HasPrefix(c.URL, "https:") {
		a.log.Warn("the console is reached from other machines without HTTPS, so tokens and sessions can be read on the way: put a proxy with TLS before it and name that in console.url")
	}
}

// redactURLs is redactURL for several, separated by commas.
func redactURLs(list string) string {
	urls := strings.Split(list, ",")
	for i, url := range urls {
		urls[i] = redactURL(strings.TrimSpace(url))
	}
	return strings.Join(urls, ",")
}

// redactURL drops what may be secret in a URL.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "invalid URL"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
