package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/internal/telemetry"
	"github.com/heldcall/heldcall/proxy"
)

// Agent is an agent that is served beside those of the configuration. It has an address and a policy of its own.
type Agent struct {
	ID        string // no other attached agent has it
	Name      string // in its requests
	Upstreams []Upstream
	Policy    PolicyConfig
}

// Attached is an agent that is being served.
type Attached struct {
	proxy    *proxy.Proxy
	registry *prometheus.Registry // of its proxy; the console does not export it
	leave    func()               // ends its policy
}

// start serves the agent. It fails if a canary call is not held.
func (t *Attached) start(ctx context.Context, canary func(context.Context, *proxy.Proxy) error) error {
	if err := canary(ctx, t.proxy); err != nil {
		return err
	}
	return t.proxy.Start(ctx)
}

// ProxyAddr returns the host:port to which the agent connects.
func (t *Attached) ProxyAddr() string { return t.proxy.Addr() }

// ToolOffers is [App.ToolOffers] for this agent.
func (t *Attached) ToolOffers() (requests, offering int) { return t.proxy.ToolOffers() }

// AgentRequests returns the number of requests from the agent, refused ones included.
func (t *Attached) AgentRequests() (int, error) {
	return telemetry.Total(t.registry, "heldcall_requests_total")
}

// Detach ends the service. Held calls stay in the store, as when an agent disconnects.
func (t *Attached) Detach(ctx context.Context) error {
	defer t.leave()
	return t.proxy.Shutdown(ctx)
}
