package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/internal/telemetry"
	"github.com/heldcall/heldcall/internal/weborigin"
	"github.com/heldcall/heldcall/proxy"
)

// stopWithin bounds the orderly stop of all parts.
const stopWithin = 30 * time.Second

// budgetShare divides the available memory: reservations use at most the quotient. The rest is for what
// heldcall always needs, the history and garbage.
const budgetShare = 2

// App is a heldcall: the parts that are wired at its start, and the policies and the configuration that reload
// while it serves.
type App struct {
	options  Options
	parts    *parts
	policies *policies
	started  chan struct{}
}

// New reads the policies. Nothing runs yet.
func New(o Options) (*App, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.canary == nil {
		o.canary = func(ctx context.Context, p *proxy.Proxy) error { return p.Canary(ctx) }
	}
	loaded := o.Config
	sockets, err := placeSockets(o.Sockets, &o.Config)
	if err != nil {
		return nil, err
	}
	directory, err := o.Config.Console.directory()
	if err != nil {
		return nil, fmt.Errorf("console.reviewers: %w", err)
	}
	judge, err := newJudge(o.Config, o.ConfigFile, o.Log)
	if err != nil {
		return nil, err
	}
	available := memory.Available()
	p := &parts{options: o, memory: memory.NewBudget(cmp.Or(int64(o.Config.Proxy.Memory), available/budgetShare)), goLimit: memory.GoLimit(available), sockets: sockets, registry: telemetry.NewRegistry(o.Version), reviewers: directory, judge: judge, grantsKept: make(chan approvals.Grant, 1024), policyChanged: make(chan struct{}, 1)}
	p.inForce.Store(&o.Config)
	p.reload = newReload(p, loaded)
	a := &App{options: o, parts: p, policies: newPolicies(p), started: make(chan struct{})}
	p.canary = newCanary(o.canary, p.registry)
	if err := p.judge.Load(); err != nil {
		return nil, err
	}
	return a, nil
}

// Started is closed when agents and reviewers are being served.
func (a *App) Started() <-chan struct{} { return a.started }

// ProxyAddr is the host:port that agents connect to, once started.
func (a *App) ProxyAddr() string { return a.parts.proxy.Addr() }

// ConsoleURL is the address of the console, once started.
func (a *App) ConsoleURL() string { return "http://" + a.parts.console.Addr() }

// NATSAddr is the host:port of the embedded NATS server for bots, "" without
// one, once started.
func (a *App) NATSAddr() string { return a.parts.store.listenAddr }

// ToolOffers returns the number of requests to a model so far, and how many of them
// offered the model tools.
func (a *App) ToolOffers() (requests, offering int) { return a.parts.proxy.ToolOffers() }

// AgentRequests returns the number of requests from agents so far, refused ones included.
func (a *App) AgentRequests() (int, error) {
	return telemetry.Total(a.parts.registry, "heldcall_requests_total")
}

// Attach serves an agent until [Attached.Detach]. The App must have started, and must not stop before
// Detach.
func (a *App) Attach(ctx context.Context, agent Agent) (*Attached, error) {
	p := a.parts
	who := Client{Agent: agent.Name}.principal()
	leave, err := p.judge.Join(judge.Agent{
		ID: agent.ID, Principal: who, File: agent.Policy.File, Optional: !agent.Policy.FileNamed, Folder: agent.Policy.WorkDir, Protected: agent.Policy.Protected,
	})
	if err != nil {
		return nil, err
	}
	attached := &Attached{registry: prometheus.NewRegistry(), leave: leave}
	o := p.proxySettings(who)
	o.Services = p.proxyServices(agent.ID)
	o = p.changed(o)
	host, _, _ := net.SplitHostPort(o.Listen)
	o.Listen, o.Registerer, o.Log = net.JoinHostPort(host, "0"), attached.registry, o.Log.With("agent", agent.Name)
	o.Upstreams = proxied(agent.Upstreams)
	if attached.proxy, err = proxy.New(o); err == nil {
		err = attached.start(ctx, a.options.canary)
	}
	if err != nil {
		leave()
		return nil, fmt.Errorf("attach %s: %w", agent.Name, err)
	}
	return attached, nil
}

// Reload reads the configuration file and the policy files again, and logs the result.
func (a *App) Reload() {
	a.parts.reload.request()
	a.policies.reload()
}

// Run starts every part in order, serves until the context ends or a part fails, and
// stops in the reverse order: the ports open first, and that of agents closes last.
func (a *App) Run(ctx context.Context) (err error) {
	log, running := a.options.Log, newLifecycle()
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err = errors.Join(err, running.stop(stop))
	}()
	memory.LimitGo(a.parts.goLimit)
	a.logSources()
	if err := a.start(ctx, running); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting
		}
		return err
	}
	a.announce()
	close(a.started)
	select {
	case <-ctx.Done():
		log.Info("stopping")
		return nil
	case err := <-a.parts.proxy.Served():
		return fmt.Errorf("the proxy has stopped: %w", err)
	case err := <-a.parts.console.Served():
		return fmt.Errorf("the console has stopped: %w", err)
	case err := <-running.failed:
		return err
	}
}

func (a *App) start(ctx context.Context, running *lifecycle) error {
	p := a.parts
	for _, step := range []func(context.Context, *lifecycle) error{
		p.startTracing, p.openPorts, p.startStore, p.startAudit, a.policies.start, p.startGrants, p.startSecrets, p.startPasskeys, p.startGate, p.startPush, p.startBots,
		p.makeChannels, p.startProxy, p.startConsole, p.startNotify, p.startReload,
	} {
		if err := step(ctx, running); err != nil {
			return err
		}
	}
	return nil
}

// logSources logs the files of configuration and policy, and where state is stored.
func (a *App) logSources() {
	where, state := "nats", redactURLs(a.options.Config.NATS.URL)
	if a.options.Config.NATS.URL == "" {
		where, state = "data", absolute(a.options.Config.NATS.Dir)
	}
	rules := a.options.Config.Policy.String()
	if !a.options.Config.Policy.Absent() {
		rules = absolute(rules)
	}
	a.options.Log.Info("configuration", "file", cmp.Or(a.options.ConfigFile, "none, defaults"), "policy", rules, where, state)
	for _, warning := range a.options.Config.Warnings() {
		a.options.Log.Warn(warning)
	}
}

func (a *App) announce() {
	for _, u := range a.options.Config.Proxy.Upstreams {
		a.options.Log.Info("proxy ready", "base_url", "http://"+a.ProxyAddr()+u.Prefix, "upstream", redactURL(u.URL))
	}
	a.announceConsole()
	a.policies.warnOfVacantRoutes()
	for _, s := range a.parts.judge.Sources() {
		a.policies.warnOfWidened(s)
	}
	if addr := a.NATSAddr(); addr != "" {
		a.options.Log.Info("NATS listening", "url", "nats://"+addr)
		if a.options.Config.NATS.Auth == natsOpen && a.parts.reviewers != nil {
			a.options.Log.Warn("nats.auth is open: clients of NATS without a token read all requests and events, and can take messages from the consumers of others; remove nats.auth", "url", "nats://"+addr)
		}
	}
}

// announceConsole logs the address of the console and who may sign in.
func (a *App) announceConsole() {
	if a.parts.reviewers == nil {
		a.options.Log.Warn("no reviewers configured: anyone on this machine can approve, agents on it too (docs/hardening.md)", "console", a.ConsoleURL())
		return
	}
	c := a.options.Config.Console
	if !c.asks() {
		a.options.Log.Info("reviewers: the token of this run is needed to approve", "console", a.ConsoleURL())
		return
	}
	a.options.Log.Info("reviewers: sign in", "console", cmp.Or(c.URL, a.ConsoleURL()), "configured", len(c.Reviewers), "oidc", cmp.Or(c.OIDC.Issuer, "none"))
	for _, s := range a.parts.judge.Sources() {
		a.policies.warnOfVacantGroups(s)
	}
	if names := c.twoNames(); len(names) > 0 {
		a.options.Log.Warn("these reviewers have a token, and count as other reviewers when they sign in by the provider: to link the two, set their e-mail address as user in console.reviewers", "reviewers", names)
	}
	if host, _, _ := net.SplitHostPort(c.Listen); !weborigin.IsLoopback(host) && !strings.HasPrefix(c.URL, "https:") {
		a.options.Log.Warn("the console is reached from other machines without HTTPS, so tokens and sessions can be read on the way: put a proxy with TLS before it and name that in console.url")
	}
}
