package app

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/internal/telemetry"
	"github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/webpush"
	"github.com/heldcall/heldcall/proxy"
)

// dialects is the one list of wire APIs that are gated.
func dialects() []intercept.Dialect {
	return []intercept.Dialect{chat.Dialect{}, responses.Dialect{}, messages.Dialect{}}
}

// parts are what heldcall consists of. Each start method makes one part from the
// options and from the parts before it; [App.Run] has their order.
type parts struct {
	options   Options
	memory    *memory.Budget // of everything that is reserved
	goLimit   int64          // of Go's memory, in bytes
	sockets   sockets
	registry  *prometheus.Registry
	reviewers *reviewers.Directory // nil: anybody on loopback is the reviewer "local"
	judge     *judge.Judge
	canary    *canary
	// inForce is the configuration: that of the options, with what a reload has changed.
	inForce atomic.Pointer[Config]
	known   atomic.Pointer[[]approvals.Principal] // see principals

	tracer trace.Tracer // nil without tracing
	store  *state
	grants *grants.Grants
	// grantsKept has the grants that come into force, for the gate.
	grantsKept chan approvals.Grant
	// policyChanged has a value when a policy has changed, for the gate.
	policyChanged chan struct{}
	secrets       *secrets.Secrets
	held          *heldturns.Keeper
	gate          *gate.Gate
	browsers      browsers
	channels      *channels
	proxy         *proxy.Proxy
	port          *console.Port
	console       *console.Console
	reload        *reload
}

// browsers are what reviewers have registered in theirs.
type browsers struct {
	push     *webpush.Push
	passkeys *passkeys.Passkeys
}

func (p *parts) log(component string) *slog.Logger { return p.options.Log.With("component", component) }

func (p *parts) startTracing(ctx context.Context, running *lifecycle) error {
	c, spans := p.options.Config.Tracing, telemetry.NewSpanCounter(p.registry)
	if !c.Enabled {
		return nil
	}
	headers := make(map[string]string, len(c.Headers))
	for _, h := range c.Headers {
		headers[http.CanonicalHeaderKey(h.Name)] = string(h.Value)
	}
	tracing, err := telemetry.StartTracing(ctx, telemetry.TracingOptions{
		Endpoint: c.Endpoint, Headers: headers, Version: p.options.Version, Log: p.log("tracing"), Spans: spans,
	})
	if err != nil {
		return err
	}
	endpoint := "that of the environment"
	if c.Endpoint != "" {
		endpoint = redactURL(c.Endpoint)
	}
	p.options.Log.Info("tracing", "endpoint", endpoint, "arguments", c.Arguments)
	p.tracer = tracing.Tracer()
	running.started("tracing", tracing.Stop)
	return nil
}

// newJudge makes the judge of all calls.
func newJudge(c Config, configFile string, log *slog.Logger) (*judge.Judge, error) {
	o := judge.Options{
		File: c.Policy.File, Optional: !c.Policy.FileNamed, Shadow: c.Policy.Mode == "shadow",
		Agent: workspace.Agent{Folder: c.Policy.WorkDir, Seen: c.Policy.SharedFiles}, Protected: c.Policy.Protected, Own: c.ownFiles(configFile),
		Templates: c.Grants.templates(), Log: log,
	}
	if c.Proxy.Agent != "" {
		o.Principals = append(o.Principals, Client{Agent: c.Proxy.Agent}.principal())
	}
	for _, client := range c.Proxy.Clients {
		if o.Principals != nil {
			o.Principals = append(o.Principals, client.principal())
		}
	}
	var err error
	if o.Clients, err = c.judgedClients(o.Own); err != nil {
		return nil, err
	}
	return judge.New(o), nil
}

// startGrants loads the grants before the first call: a deny grant must apply to it.
func (p *parts) startGrants(ctx context.Context, running *lifecycle) error {
	o := grants.Options{
		Store: p.store.grants, Judge: p.judge, Log: p.log("grants"), Kept: p.keepGrant, Dropped: p.judge.DropGrant,
		MaskWritten: func(ctx context.Context, fields ...any) error { return p.secrets.MaskWritten(ctx, fields...) }, // they start later
		Principals:  p.principals,
	}
	if p.reviewers != nil {
		o.NoSelfApproval, o.Profile = !p.options.Config.Console.SelfApproval, p.reviewers.Profile
	}
	p.grants = grants.New(o)
	running.background("grants", p.grants.Run)
	if err := running.awaitReady(ctx, p.grants.Ready()); err != nil {
		return err
	}
	p.judge.LoadGrants()
	return nil
}

// principals returns those of the clients that the configuration has, or had since the start: calls of a client that was
// removed may still be held.
func (p *parts) principals() []approvals.Principal { return slices.Clone(*p.known.Load()) }

// keepGrant puts a grant into force, and then lets the gate decide waiting requests by it.
func (p *parts) keepGrant(g approvals.Grant) {
	p.judge.KeepGrant(g)
	select {
	case p.grantsKept <- g:
	default: // of more at once, people decide
	}
}

// startHeldTurns loads the held turns before the gate reads their requests.
func (p *parts) startHeldTurns(ctx context.Context, running *lifecycle) error {
	running.background("held turns", func(ctx context.Context) error { return p.held.Run(ctx, p.gate) })
	return running.awaitReady(ctx, p.held.Ready())
}

func (p *parts) startGate(ctx context.Context, running *lifecycle) error {
	p.held = heldturns.New(heldturns.Options{
		Store: p.store.heldTurns, Leases: p.store.leases, OrphanTTL: p.options.Config.Hold.OrphanTTL, Log: p.log("held turns"), Registerer: p.registry,
	})
	o := gate.Options{
		Store: noticed{p.store.gate, p.options.Notice, p.log("gate")}, Log: p.log("gate"), Registerer: p.registry, HideTools: p.options.Config.Console.limitsTenants(), CheckEdit: p.judge.Edit, GrantsKept: p.grantsKept, AllowedBy: p.judge.AllowedBy,
		PolicyChanged: p.policyChanged, ByPolicy: p.judge.ByPolicy,
		Grants: p.grants, Results: p.options.Config.Audit.Results, Turns: p.held, Idle: p.options.Config.Runs.Idle, Conceal: p.secrets.Conceal, MaskWritten: p.secrets.MaskWritten, Prove: p.browsers.passkeys.Prove,
	}
	if p.reviewers != nil {
		o.NoSelfApproval, o.Profile = !p.options.Config.Console.SelfApproval, p.reviewers.Profile
	}
	p.gate = gate.New(o)
	if err := p.startHeldTurns(ctx, running); err != nil {
		return err
	}
	running.background("gate", p.gate.Run)
	return running.awaitReady(ctx, p.gate.Ready())
}

func (p *parts) startBots(_ context.Context, running *lifecycle) error {
	if p.store.startBots == nil {
		return nil
	}
	bots, err := p.store.startBots(nats.Options{Gate: p.gate, Signals: p.gate.Signals(), Grants: p.grants, Reviewers: p.reviewers, Version: serviceVersion(p.options.Version), Log: p.log("nats")})
	if err != nil {
		return err
	}
	running.started("nats", func(context.Context) error { return bots.Stop() })
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

// proxied returns upstreams in the form that the proxy takes.
func proxied(upstreams []Upstream) (all []proxy.Upstream) {
	for _, u := range upstreams {
		all = append(all, proxy.Upstream{Prefix: u.Prefix, URL: u.URL, APIKey: string(u.APIKey), KeyHeader: u.KeyHeader, StandIn: u.StandIn, ChatGPT: u.ChatGPT, Proxy: string(u.Proxy), CA: u.CA, Cert: u.Cert, Key: u.Key})
	}
	return all
}

// proxySettings returns the options of a proxy that need no state. who is the principal of agents whose key is not
// configured.
func (p *parts) proxySettings(who approvals.Principal) proxy.Options {
	c := p.options.Config.Proxy
	o := proxy.Options{
		Listen: c.Listen, TrustHeaders: c.TrustHeaders, Keepalive: c.Keepalive, Heartbeat: proxy.Heartbeat(c.Heartbeat),
		MaxBody: int(c.MaxBody), Memory: p.memory, GoLimit: p.goLimit, MaxContinuations: c.MaxContinuations, MaxDenials: c.MaxDenials, MaxWait: p.options.Config.Hold.MaxWait, Park: p.options.Config.Hold.Mode == "park", ParkAfter: p.options.Config.Hold.ParkAfter, Routes: c.Routes.Allow, Hosts: c.Hosts, Origins: c.Origins,
		Dialects: dialects(),
		Tracing:  proxy.Tracing{Tracer: p.tracer, Arguments: p.options.Config.Tracing.Arguments},
		Log:      p.log("proxy"), Registerer: p.registry, Unnamed: who, Upstreams: proxied(c.Upstreams),
	}
	o.Clients = p.inForce.Load().Proxy.named()
	return o
}

// named returns the clients as the proxy takes them.
func (c ProxyConfig) named() (all []proxy.Client) {
	for _, k := range c.Clients {
		all = append(all, proxy.Client{KeySHA256: k.digest(), Principal: k.principal()})
	}
	return all
}

// proxyServices returns what a proxy needs of the state. id is that of an agent that has joined the judge, "" for
// agents of the configuration.
func (p *parts) proxyServices(id string) proxy.Services {
	return proxy.Services{
		Judge: func(client string) proxy.Judge { return p.judge.For(client, id) }, Gate: p.gate, Results: p.gate.Results,
		Turns: p.store.turns, Keeper: heldTurns{p.held}, Used: p.grants.Used, Secrets: p.secrets,
	}
}

// changed returns options of a proxy as tests have them.
func (p *parts) changed(o proxy.Options) proxy.Options {
	if p.options.proxy != nil {
		p.options.proxy(&o)
	}
	return o
}

// startProxy lets the requests of agents in at the port that is open.
func (p *parts) startProxy(ctx context.Context, running *lifecycle) error {
	if err := p.proxy.Provide(p.changed(proxy.Options{Services: p.proxyServices("")}).Services); err != nil {
		return err
	}
	p.canary.run(ctx, p.proxy, p.options.Log)
	if err := ctx.Err(); err != nil {
		return err
	}
	p.proxy.Open()
	running.started("proxy", p.proxy.Drain)
	return nil
}

func (p *parts) startConsole(_ context.Context, running *lifecycle) (err error) {
	c := p.options.Config.Console
	provider := c.provider(p.reviewers)
	p.console, err = console.New(console.Options{
		Listen: c.Listen, URL: c.URL, Gate: p.gate, Signals: p.gate.Signals(), Grants: p.grants, Propose: p.proposals().list, Secrets: p.secrets, Audit: p.store.events, Differences: p.differences, Templates: p.options.Config.Grants.templates(), Reviewers: p.reviewers, SelfApproval: c.SelfApproval, OIDC: provider, Session: c.Session, Sessions: c.SessionsFile, Push: p.browsers.push, Passkeys: p.browsers.passkeys,
		Port: p.port,
		Checks: []console.Check{
			{Name: "store", Check: p.store.healthy},
			{Name: "canary", Check: p.canary.check},
			{Name: "secrets", Check: p.secrets.Check},
			{Name: "channels", Check: p.channels.check, Advisory: true},
			{Name: "configuration", Check: p.reload.check, Advisory: true},
		},
		Hooks: p.channels.hooks(),
		Log:   p.log("console"), Registerer: p.registry, Gatherer: p.registry,
	})
	if err != nil {
		return err
	}
	if err := p.console.Start(); err != nil {
		return err
	}
	p.browsers.passkeys.Listen(p.console.Addr())
	running.started("console", p.console.Shutdown)
	if provider != nil {
		running.background("sign-in", func(ctx context.Context) error {
			if err := provider.Check(ctx); err != nil && ctx.Err() == nil {
				p.options.Log.Warn("sign-in by console.oidc fails until the provider answers; heldcall asks it again at each sign-in", "error", err)
			}
			return nil
		})
	}
	return nil
}
