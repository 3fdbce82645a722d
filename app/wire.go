package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/proxy"
)

// dialects is the one list of wire APIs that are gated.
func dialects() []intercept.Dialect {
	return []intercept.Dialect{chat.Dialect{}, responses.Dialect{}, messages.Dialect{}}
}

func (a *App) startStore(ctx context.Context, running *lifecycle) (err error) {
	c := a.config.NATS
	listen := c.Listen
	if listen == "" {
		listen = "-"
	}
	names, _ := a.config.Notify.names()
	a.store, err = store.Open(ctx, store.Options{
		URL: c.URL, Creds: c.Creds, NKey: c.NKey, TLSCA: c.TLS.CA, TLSCert: c.TLS.Cert, TLSKey: c.TLS.Key,
		Replicas: c.Replicas, Listen: listen, Dir: c.Dir, Reviewers: a.reviewers, ReviewersOnly: c.Auth != natsOpen, Retention: a.config.Audit.Retention, Channels: append(names, channelPush),
		Log: a.log.With("component", "store"), Registerer: a.registry,
	})
	if err != nil {
		return err
	}
	running.started("store", func(context.Context) error { return a.store.Close() })
	return nil
}

// newJudge makes the judge of all calls, by the configuration.
func newJudge(c Config, log *slog.Logger) *judge.Judge {
	o := judge.Options{
		File: c.Policy.File, Optional: !c.Policy.FileNamed, Shadow: c.Policy.Mode == "shadow",
		WorkDir: c.Policy.WorkDir, Protected: c.Policy.Protected, Templates: c.Grants.templates(), Log: log,
	}
	for _, client := range c.Proxy.Clients {
		if client.Policy != "" {
			o.Clients = append(o.Clients, judge.ClientPolicy{KeySHA256: client.digest(), Principal: client.principal(), File: client.Policy})
		}
	}
	return judge.New(o)
}

// startGrants reads the grants before any call is judged: one that denies has to be in
// force for the first call.
func (a *App) startGrants(ctx context.Context, running *lifecycle) error {
	o := grants.Options{
		Store: a.store.ForGrants(), Judge: a.judge, Log: a.log.With("component", "grants"), Kept: a.judge.KeepGrant, Dropped: a.judge.DropGrant,
	}
	if a.reviewers != nil {
		o.NoSelfApproval, o.Standing = !a.config.Console.SelfApproval, a.reviewers.Standing
	}
	for _, c := range a.config.Proxy.Clients {
		o.Principals = append(o.Principals, c.principal())
	}
	a.book = grants.New(o)
	running.background("grants", a.book.Run)
	select {
	case <-a.book.Ready():
		a.judge.LoadGrants()
		return nil
	case err := <-running.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *App) startGate(ctx context.Context, running *lifecycle) error {
	o := gate.Options{
		Store: noticed{a.store.ForGate(), a.notice}, Log: a.log.With("component", "gate"), Registerer: a.registry, CheckEdit: a.judge.Edit,
		Grants: a.book,
	}
	if a.reviewers != nil {
		o.NoSelfApproval, o.Standing = !a.config.Console.SelfApproval, a.reviewers.Standing
	}
	a.gate = gate.New(o)
	running.background("gate", a.gate.Run)
	select {
	case <-a.gate.Ready():
		return nil
	case err := <-running.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *App) startBots(_ context.Context, running *lifecycle) (err error) {
	a.bots, err = nats.Start(nats.Options{Conn: a.store.Conn(), Gate: a.gate, Grants: a.book, Reviewers: a.reviewers, Version: serviceVersion(a.version), Log: a.log.With("component", "nats")})
	if err != nil {
		return err
	}
	running.started("nats", func(context.Context) error { return a.bots.Stop() })
	return nil
}

var release = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)`)

// serviceVersion is the version as a NATS micro service must have it: semantic,
// without the v. A build that is no release has none.
func serviceVersion(version string) string {
	if m := release.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0"
}

func (a *App) startProxy(ctx context.Context, running *lifecycle) (err error) {
	c := a.config.Proxy
	o := proxy.Options{
		Listen: c.Listen, TrustHeaders: c.TrustHeaders, Keepalive: c.Keepalive, Heartbeat: proxy.Heartbeat(c.Heartbeat),
		MaxBody: int(c.MaxBody), Memory: cmp.Or(int64(c.Memory), max(availableMemory()/4, int64(c.MaxBody))), MaxContinuations: c.MaxContinuations, MaxDenials: c.MaxDenials, MaxWait: a.config.Hold.MaxWait, Routes: c.Routes.Allow,
		Dialects: dialects(), Judge: func(client string) proxy.Judge { return a.judge.For(client) }, Gate: a.gate, Turns: a.store.Turns, Used: a.book.Used,
		Tracing: proxy.Tracing{Tracer: a.tracer, Arguments: a.config.Tracing.Arguments},
		Log:     a.log.With("component", "proxy"), Registerer: a.registry,
	}
	for _, u := range c.Upstreams {
		o.Upstreams = append(o.Upstreams, proxy.Upstream{Prefix: u.Prefix, URL: u.URL, APIKey: string(u.APIKey), KeyHeader: u.KeyHeader})
	}
	for _, k := range c.Clients {
		o.Clients = append(o.Clients, proxy.Client{KeySHA256: k.digest(), Principal: k.principal()})
	}
	if a.proxy, err = proxy.New(o); err != nil {
		return err
	}
	a.canary.run(ctx, a)
	if err := a.proxy.Start(ctx); err != nil {
		return err
	}
	running.started("proxy", a.proxy.Shutdown)
	return nil
}

// canaryResult is what the canary found at the start.
type canaryResult struct {
	try func(context.Context, *proxy.Proxy) error
	err atomic.Pointer[error]
}

// export makes the result a metric.
func (c *canaryResult) export(reg prometheus.Registerer) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "heldcall_canary_passed",
		Help: "1 if no canary call passed unheld at the start, else 0: a route would let calls through.",
	}, func() float64 {
		if c.check(context.Background()) != nil {
			return 0
		}
		return 1
	})
}

func (c *canaryResult) run(ctx context.Context, a *App) {
	err := c.try(ctx, a.proxy)
	c.err.Store(&err)
	if err != nil && ctx.Err() == nil { // else heldcall was stopped while it tried
		a.log.Error("a canary call would have passed unheld: heldcall reports that it is not ready", "error", err)
	}
}

func (c *canaryResult) check(context.Context) error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return errors.New("the canary has not run yet")
}

func (a *App) startConsole(_ context.Context, running *lifecycle) (err error) {
	c := a.config.Console
	provider := c.provider(a.reviewers)
	a.console, err = console.New(console.Options{
		Listen: c.Listen, URL: c.URL, Gate: a.gate, Grants: a.book, Audit: a.store.Events, Templates: a.config.Grants.templates(), Reviewers: a.reviewers, SelfApproval: c.SelfApproval, OIDC: provider, Session: c.Session, Push: a.push,
		Checks: []console.Check{
			{Name: "store", Check: a.store.Healthy},
			{Name: "canary", Check: a.canary.check},
		},
		Hooks: a.channels.hooks,
		Log:   a.log.With("component", "console"), Registerer: a.registry, Gatherer: a.registry,
	})
	if err != nil {
		return err
	}
	if err := a.console.Start(); err != nil {
		return err
	}
	running.started("console", a.console.Shutdown)
	if provider != nil {
		running.background("sign-in", func(ctx context.Context) error {
			if err := provider.Check(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("nobody can sign in by console.oidc until the provider answers; it is asked again at each sign-in", "error", err)
			}
			return nil
		})
	}
	return nil
}
