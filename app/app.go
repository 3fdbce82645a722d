package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/telemetry"
	"github.com/heldcall/heldcall/proxy"
)

// stopWithin bounds the orderly stop of all parts.
const stopWithin = 30 * time.Second

// App is a heldcall: the parts that are wired at its start, and the policies that reload
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
	if o.Notice == nil {
		log := o.Log.With("component", "gate")
		o.Notice = func(e approvals.Event) { LogEvent(log, e) }
	}
	if o.canary == nil {
		o.canary = func(ctx context.Context, p *proxy.Proxy) error { return p.Canary(ctx) }
	}
	directory, err := o.Config.Console.directory()
	if err != nil {
		return nil, fmt.Errorf("console.reviewers: %w", err)
	}
	judge, err := newJudge(o.Config, o.ConfigFile, o.Log)
	if err != nil {
		return nil, err
	}
	p := &parts{options: o, registry: telemetry.NewRegistry(o.Version), reviewers: directory, judge: judge}
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
func (a *App) NATSAddr() string { return a.parts.store.ListenAddr() }

// ToolOffers returns the number of requests to a model so far, and how many of them
// offered the model tools.
func (a *App) ToolOffers() (requests, offering int) { return a.parts.proxy.ToolOffers() }

// AgentRequests returns the number of requests from agents so far, refused ones included.
func (a *App) AgentRequests() (int, error) {
	families, err := a.parts.registry.Gather()
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

// Reload reads the policy files again and logs the result.
func (a *App) Reload() { a.policies.reload() }

// Run starts every part in order, serves until the context ends or a part fails, and
// stops in the reverse order: the listeners first, the store last.
func (a *App) Run(ctx context.Context) (err error) {
	log, running := a.options.Log, newLifecycle()
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err = errors.Join(err, running.stop(stop))
	}()
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
		p.startTracing, p.startStore, p.startAudit, a.policies.start, p.startGrants, p.startSecrets, p.startPasskeys, p.startGate, p.startPush, p.startBots,
		p.makeChannels, p.startProxy, p.startConsole, p.startNotify,
	} {
		if err := step(ctx, running); err != nil {
			return err
		}
	}
	return nil
}
