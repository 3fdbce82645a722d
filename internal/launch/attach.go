package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/discovery"
)

const (
	detachWithin = 30 * time.Second
	maxPolicy    = 16 << 20 // bytes of the policy of an attached agent
	maxTool      = 500      // bytes of the name of a tool that an attached run shows
	maxEvents    = 256      // that wait for an attached run to read them; further ones are not shown there
)

// Host attaches the agents of other runs to the heldcall of this one. Events go to the runs whose
// agents they are about.
type Host struct {
	setup *Setup
	log   *slog.Logger
	own   func(approvals.Event) // shows events of this run's agent

	mu       sync.Mutex
	attached []*attachment
}

// NewHost makes a host before its heldcall starts.
func NewHost(u *Setup, log *slog.Logger, own func(approvals.Event)) *Host {
	return &Host{setup: u, log: log, own: own}
}

// Event shows an event where its agent was started.
func (h *Host) Event(e approvals.Event) {
	h.mu.Lock()
	found := false
	for _, a := range h.attached {
		if a.name == e.Principal.Agent {
			found = true
			select {
			case a.events <- shown(e):
			default:
			}
		}
	}
	h.mu.Unlock()
	if found && e.Principal.Agent != h.setup.Config.Proxy.Agent {
		app.LogEvent(h.log, e)
		return
	}
	h.own(e)
}

// shown returns what an attached run shows of an event: see [Notices.Event]. The rest may be larger than a line of
// its connection, which would end, and with it the service of its agent.
func shown(e approvals.Event) approvals.Event {
	return approvals.Event{
		Type: e.Type, RequestID: e.RequestID, Kind: e.Kind, ToolName: e.ToolName[:min(len(e.ToolName), maxTool)], Action: e.Action, ReviewerID: e.ReviewerID,
	}
}

// Serve lets other runs and commands find a heldcall that serves, with its version. Only one
// whose state is shared attaches the agents of others. Without a claim it is not found.
func (h *Host) Serve(claim *discovery.Claim, heldcall *app.App, version, configFile string) (*discovery.Server, error) {
	if claim == nil {
		return nil, nil
	}
	c := &h.setup.Config
	console := "http://" + app.Reachable(strings.TrimPrefix(heldcall.ConsoleURL(), "http://"))
	config, err := digest(configFile)
	o := discovery.Options{
		Config: config, Tokens: c.Console.TokenHashes(),
		About: discovery.About{Version: version, Console: console, Inbox: c.Console.URL, Agents: []string{c.Proxy.Agent}},
	}
	if o.About.Inbox == "" {
		o.About.Inbox = console
	}
	if err != nil {
		return nil, err
	}
	if h.setup.Shared {
		o.Attach = func(ctx context.Context, agent discovery.Agent) (discovery.Attachment, error) {
			return h.attach(ctx, heldcall, agent)
		}
	}
	return claim.Serve(o)
}

// attachment is an agent of another run.
type attachment struct {
	*app.Attached
	host   *Host
	name   string
	events chan approvals.Event
}

func (h *Host) attach(ctx context.Context, heldcall *app.App, agent discovery.Agent) (discovery.Attachment, error) {
	if err := checkPaths(agent); err != nil {
		return nil, err
	}
	upstreams, err := h.setup.upstreamsOf(agent)
	if err != nil {
		return nil, err
	}
	served, err := heldcall.Attach(ctx, app.Agent{
		ID: "attached " + rand.Text(), Name: agent.Name, Upstreams: upstreams,
		Policy: app.PolicyConfig{File: agent.Policy, FileNamed: !agent.Optional, WorkDir: agent.Folder, Protected: agent.Protected},
	})
	if err != nil {
		return nil, err
	}
	a := &attachment{Attached: served, host: h, name: agent.Name, events: make(chan approvals.Event, maxEvents)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attached = append(h.attached, a)
	h.log.Info("an agent is attached", "agent", agent.Name, "policy", agent.Policy, "proxy", served.ProxyAddr())
	return a, nil
}

// checkPaths checks the paths that another program has sent: they must not depend on where this process runs, and
// to read the policy must end.
func checkPaths(agent discovery.Agent) error {
	if !filepath.IsAbs(agent.Folder) || !filepath.IsAbs(agent.Policy) {
		return errors.New("its folder or policy is not an absolute path")
	}
	info, err := os.Stat(agent.Policy)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it may be optional
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxPolicy:
		return fmt.Errorf("its policy %s is not a file of at most %d bytes", agent.Policy, maxPolicy)
	}
	return nil
}

// Proxy is the host:port for the model requests of the agent.
func (a *attachment) Proxy() string { return a.ProxyAddr() }

// Events are those about the agent's calls.
func (a *attachment) Events() <-chan approvals.Event { return a.events }

// Leave ends the service of the agent.
func (a *attachment) Leave() discovery.Report {
	ctx, cancel := context.WithTimeout(context.Background(), detachWithin)
	defer cancel()
	if err := a.Detach(ctx); err != nil {
		a.host.log.Warn("an agent that has left was still connected", "agent", a.name, "error", err)
	}
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	a.host.attached = slices.DeleteFunc(a.host.attached, func(other *attachment) bool { return other == a })
	a.host.log.Info("an agent has left", "agent", a.name)
	return Report(a)
}

// counted counts what came from an agent.
type counted interface {
	AgentRequests() (int, error)
	ToolOffers() (requests, offering int)
}

// Report returns what came from an agent: that of an [app.App], or an attached one.
func Report(agent counted) (r discovery.Report) {
	r.Requests, _ = agent.AgentRequests() // metrics of our own are always read
	r.Model, r.Offering = agent.ToolOffers()
	return r
}
